//! A question whether a tool may run: exactly what would be done, and the answers.

use maud::{Markup, html};
use recto_agent::{Actor, Right, is_allowed};
use recto_store::{ApprovalExtent, StoredApproval};
use recto_tools::{ActionFields, FileFields, ProgramFields};

use crate::pages::layout::PageChrome;
use crate::pages::times;

/// A question as a block of its turn, with buttons for whoever may answer.
pub(crate) fn question_block(
    chrome: &PageChrome,
    actor: &Actor,
    approval: &StoredApproval,
) -> Markup {
    let fields = approval.question.fields.clone();
    let action = fields.and_then(|fields| serde_json::from_value::<ActionFields>(fields).ok());
    let heading = format!("ask-{}", approval.id);
    html! {
        section.block.ask aria-labelledby=(heading) tabindex="-1" data-approval=(approval.id) {
            h3 id=(heading) { code { (approval.question.tool.key()) } " " (wish(action.as_ref())) }
            @match &action {
                Some(ActionFields::Program(program)) => (program_facts(program, approval)),
                Some(ActionFields::File(file)) => (file_facts(file)),
                _ => {
                    pre.cmd tabindex="0" { (show_controls(&approval.question.title)) }
                    @if !approval.question.detail.is_empty() {
                        pre.cmd tabindex="0" { (show_controls(&approval.question.detail)) }
                    }
                }
            }
            (answers(chrome, actor, approval))
        }
    }
}

fn wish(action: Option<&ActionFields>) -> &'static str {
    match action {
        Some(ActionFields::Program(_)) => "wants to run a program",
        Some(ActionFields::File(_)) => "wants to write a file",
        Some(ActionFields::Server(_)) => "wants to call its server",
        Some(ActionFields::Call(_)) | None => "wants to run",
    }
}

fn program_facts(program: &ProgramFields, approval: &StoredApproval) -> Markup {
    let writes = match program.reach.writes.len() {
        0 => "nothing on this machine".to_owned(),
        _ => program.reach.writes.join(", "),
    };
    html! {
        pre.cmd tabindex="0" { (show_controls(&approval.question.title)) }
        dl.facts {
            dt { "in" } dd { code { (show_controls(&program.folder)) } }
            dt { "network" } dd { @if program.reach.network { "allowed" } @else { "none" } }
            dt { "writes" } dd { (show_controls(&writes)) }
            @if !program.all_guards_hold {
                dt.wait { "warning" } dd { "not all guards hold here: " (program.guards) }
            }
        }
        details.fold {
            summary { "All of its rights" }
            pre.cmd tabindex="0" { (show_controls(&approval.question.detail)) }
        }
    }
}

fn file_facts(file: &FileFields) -> Markup {
    html! {
        pre.cmd { (show_controls(&file.path)) }
        pre.cmd.lines tabindex="0" {
            @for line in file.diff.lines() {
                @let shown = show_controls(line);
                @if is_diff_heading(line) { span.q { (shown) } }
                @else if line.starts_with('+') { ins { (shown) } }
                @else if line.starts_with('-') { del { (shown) } }
                @else { span { (shown) } }
            }
        }
    }
}

/// Whether a line of a diff names the file or a place in it.
fn is_diff_heading(line: &str) -> bool {
    ["+++ ", "--- ", "@@ "].iter().any(|mark| line.starts_with(mark))
}

fn answers(chrome: &PageChrome, actor: &Actor, approval: &StoredApproval) -> Markup {
    let may_allow = is_allowed(actor.role, Right::Approve);
    let may_deny = is_allowed(actor.role, Right::Stop);
    let action = format!("/approvals/{}", approval.id);
    let per_session = approval.question.extent == ApprovalExtent::Tool;
    let buttons = html! {
        @if may_allow {
            button.btn.first name="answer" value="once" data-key="a" { "Allow once " kbd { "a" } }
            @if per_session {
                button.btn name="answer" value="session" data-key="s" {
                    "Allow for this session " kbd { "s" }
                }
            }
        }
        @if may_deny {
            button.btn name="answer" value="denied" data-key="d" { "Deny " kbd { "d" } }
        }
        span.q { "question " (approval.id) ", until " (times::said_at(approval.question.expires)) }
    };
    chrome.post_form(&action, "acts", &buttons)
}

/// A text in which characters that can't be seen, or that change how others are seen, are
/// written out: what is asked about must be what is read.
pub(crate) fn show_controls(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if c.is_control() || is_invisible(c) => {
                shown.push_str(&format!("‹U+{:04X}›", u32::from(c)));
            }
            c => shown.push(c),
        }
    }
    shown
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_mislead_is_written_out() {
        assert_eq!(show_controls("rm\u{202e}fdp.exe\n\u{1b}[2J"), "rm‹U+202E›fdp.exe\n‹U+001B›[2J");
        assert_eq!(show_controls("größe\t✓"), "größe\t✓");
    }
}
