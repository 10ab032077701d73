//! A question whether a tool may run: exactly what would be done, and the answers.

use maud::{Markup, html};
use recto_agent::{Actor, Right, is_allowed};
use recto_store::{ApprovalExtent, StoredApproval};
use recto_tools::{ActionFields, FileChange, FileFields, ProgramFields, UnseenSkill};

use crate::pages::layout::PageChrome;
use crate::pages::times;
use crate::pages::visible_text::show_controls;

/// A question as a block of its turn, with buttons for whoever may answer.
pub(crate) fn question_block(
    chrome: &PageChrome,
    actor: &Actor,
    (approval, asker): (&StoredApproval, Option<&Actor>),
) -> Markup {
    let fields = approval.question.fields.clone();
    let action = fields.and_then(|fields| serde_json::from_value::<ActionFields>(fields).ok());
    let heading = format!("ask-{}", approval.id);
    html! {
        section.block.ask aria-labelledby=(heading) tabindex="-1" data-approval=(approval.id) {
            h3 id=(heading) { code { (show_controls(&approval.question.tool.key())) } " " (describe_intent(action.as_ref())) }
            @if let Some(guest) = asker.and_then(|asker| chrome.guest_who(asker)) {
                p.wait { "Asked for by " (guest) "." }
            }
            @if let Some(skill) = action.as_ref().and_then(ActionFields::unseen_skill) {
                (trust_warning(skill))
            }
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
            (answers(chrome, actor, approval, action.as_ref()))
        }
    }
}

/// What else a person does who allows the first call of a skill: it has its rights from then on.
fn trust_warning(skill: &UnseenSkill) -> Markup {
    html! {
        div.notice.warns role="note" {
            p {
                strong { "First call of skill " code { (skill.shown_name()) } ": " }
                "nobody has looked at it yet. Whoever allows this call trusts the skill and gives it its \
                 rights, for this and all later calls."
            }
            dl.facts {
                dt { "folder" } dd { code { (show_controls(&skill.folder)) } }
                dt { "rights" } dd { (show_controls(&skill.rights.join(", "))) }
            }
        }
    }
}

/// What a tool wants to do, behind its name.
fn describe_intent(action: Option<&ActionFields>) -> &'static str {
    match action {
        Some(ActionFields::Program(_)) => "wants to run a program",
        Some(ActionFields::File(file)) => match file.change {
            FileChange::Create => "wants to create a file",
            FileChange::Replace => "wants to replace a file",
        },
        Some(ActionFields::Server(_)) => "wants to call its server",
        Some(ActionFields::Call(_)) | None => "wants to run",
    }
}

fn program_facts(program: &ProgramFields, approval: &StoredApproval) -> Markup {
    html! {
        pre.cmd tabindex="0" { (show_controls(&approval.question.title)) }
        dl.facts {
            dt { "in" } dd { code { (show_controls(&program.folder)) } }
            dt { "network" } dd { @if program.reach.network { "allowed" } @else { "none" } }
            dt { "writes" } dd { (show_controls(&program.describe_writes())) }
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
        @if let Some(note) = file.describe_note() { p { (note) } }
        @if !file.diff.is_empty() {
            pre.cmd.lines tabindex="0" {
                (diff_lines(&file.diff))
            }
        }
    }
}

/// The lines of a diff. What stands before its first place names the file: text that was taken out or
/// added may begin as that does.
fn diff_lines(diff: &str) -> Markup {
    let is_place = |line: &str| line.starts_with("@@ ");
    let headings = diff.lines().take_while(|line| !is_place(line)).count();
    html! {
        @for (at, line) in diff.lines().enumerate() {
            @let shown = show_controls(line);
            @if at < headings || is_place(line) { span.q { (shown) } }
            @else if line.starts_with('+') { ins { (shown) } }
            @else if line.starts_with('-') { del { (shown) } }
            @else { span { (shown) } }
        }
    }
}

fn answers(
    chrome: &PageChrome,
    actor: &Actor,
    approval: &StoredApproval,
    action: Option<&ActionFields>,
) -> Markup {
    let unseen = action.and_then(ActionFields::unseen_skill);
    let allow = match unseen {
        Some(skill) => format!("Allow, and trust skill {} ", skill.shown_name()),
        None => "Allow once ".to_owned(),
    };
    let may_allow = is_allowed(actor.role, Right::Approve);
    let may_deny = is_allowed(actor.role, Right::Stop);
    let action = format!("/approvals/{}", approval.id);
    let per_session = approval.question.extent == ApprovalExtent::Tool;
    let buttons = html! {
        @if may_allow {
            button.btn.first name="answer" value="once" data-key="a" { (allow) kbd.scripted { "a" } }
            @if per_session {
                button.btn name="answer" value="session" data-key="s" {
                    "Allow for this session " kbd.scripted { "s" }
                }
            }
        }
        @if may_deny {
            button.btn name="answer" value="deny" data-key="d" { "Deny " kbd.scripted { "d" } }
        }
        @if !may_allow { span.wait { "Waits for the owner's word." } }
        span.q { "question " (approval.id) ", until " (times::said_at(approval.question.expires)) }
    };
    chrome.post_form(&action, "acts", &buttons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_begins_as_a_heading_is_what_was_changed() {
        let diff = "--- a.sql\n+++ a.sql\n@@ -1,2 +1,2 @@\n--- old\n+++ b/evil.md\n kept\n";
        let drawn = "<span class=\"q\">--- a.sql</span><span class=\"q\">+++ a.sql</span>\
                     <span class=\"q\">@@ -1,2 +1,2 @@</span><del>--- old</del>\
                     <ins>+++ b/evil.md</ins><span> kept</span>";
        assert_eq!(diff_lines(diff).into_string(), drawn);
    }
}
