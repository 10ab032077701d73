//! How a turn is shown while it happens: drawn for a person, as plain text in a
//! pipe, or as JSON for programs.

use std::collections::HashMap;

use anstream::adapter::strip_str;
use recto_agent::{
    ApprovalQuestion, CommandReply, EventKind, FinishedTurn, TakenBackEvent, TurnEvent,
    TurnSnapshot, UsageTotals, describe_arguments,
};
use recto_context::first_chars;
use recto_store::{ApprovalAnswer, RetractionReason, TurnEnding, TurnId};
use recto_tools::ToolOutcome;
use serde_json::json;

use super::answers::{self, AnswerView};
use super::questions::wants;
use crate::commands::approvals::person_words;
use crate::draw::PageWidth;
use crate::failure::{CliFailure, CliResult};
use crate::output::{
    print, print_data, print_drawn, print_json_line, tame, tell, tell_exactly, turn_usage_words,
};
use crate::remedy_words::{hint_with_command, with_command};
use crate::terminal::OutputStyle;
use crate::terminal::markdown::MarkdownRenderer;
use crate::terminal::status::{self, StatusHandle, StatusLine};

/// Characters of a tool's name that are shown: a model may make one up.
const MOST_NAME: usize = 64;

/// Shows a turn while it happens.
pub(super) enum TurnPrinter {
    /// Drawn or plain, for people.
    People(Box<TerminalPrinter>),
    /// One event a line.
    Json,
}

/// Shows a turn to a person, with Markdown drawn where the terminal has colours.
pub(super) struct TerminalPrinter {
    styled: OutputStyle,
    markdown: MarkdownRenderer,
    status: StatusLine,
    /// What the calls under way are about, by their ids.
    calls: HashMap<String, String>,
    /// Whether text of this turn has been printed that no line break ended.
    open_line: bool,
    /// What was printed of the present reply.
    printed: String,
    /// How many calls were told not to run, whose results have not come yet.
    denials: usize,
}

impl TurnPrinter {
    pub(super) fn for_people() -> Self {
        let styled = OutputStyle::on_stdout();
        TurnPrinter::People(Box::new(TerminalPrinter {
            styled,
            markdown: MarkdownRenderer::new(PageWidth::of_stdout().columns(), styled),
            status: StatusLine::new(),
            calls: HashMap::new(),
            open_line: false,
            printed: String::new(),
            denials: 0,
        }))
    }

    /// What takes the status line from the screen when the program is ended.
    pub(super) fn status_handle(&self) -> Option<StatusHandle> {
        match self {
            TurnPrinter::Json => None,
            TurnPrinter::People(terminal) => Some(terminal.status.handle()),
        }
    }

    pub(super) fn event(&mut self, event: &TurnEvent) -> CliResult {
        match self {
            TurnPrinter::Json => print_json_line(event),
            TurnPrinter::People(terminal) => terminal.event(event),
        }
    }

    /// Shows something that happens in the session, but not in the turn that was asked
    /// for. Its reply is not the answer.
    pub(super) fn other(&mut self, event: &TurnEvent, asked_for: TurnId) -> CliResult {
        match (self, &event.event) {
            (TurnPrinter::Json, _) => print_json_line(event),
            (TurnPrinter::People(terminal), EventKind::Finished(finished)) => {
                let error = finished.error.as_ref().map(|error| error.message.as_str());
                let outcome = finished.reply.as_deref().or(error).unwrap_or_default();
                let status = finished.status.name();
                let (turn, is_later) = (turn_label(event), event.turn > Some(asked_for));
                let place = if is_later { "behind it" } else { "before" };
                terminal.line(&format!("{turn}, which came {place}, is {status}: {outcome}"))
            }
            (TurnPrinter::People(terminal), EventKind::Delivered { schedule, .. }) => {
                terminal.line(&delivered_line(schedule))
            }
            // Nobody is told a second time.
            (TurnPrinter::People(terminal), EventKind::Notice(_)) => terminal.event(event),
            (TurnPrinter::People(_), _) => Ok(()),
        }
    }

    /// Shows what went wrong with a message or a command.
    pub(super) fn failure(&mut self, failure: &CliFailure) -> CliResult {
        match self {
            TurnPrinter::Json => {
                let mut line = failure.json();
                line["event"] = json!("error");
                print_json_line(&line)
            }
            TurnPrinter::People(_) => {
                tell(failure);
                Ok(())
            }
        }
    }

    /// Shows a question of a snapshot, where that is not shown as it is.
    pub(super) fn question(&mut self, question: &ApprovalQuestion) -> CliResult {
        match self {
            TurnPrinter::Json => Ok(()),
            TurnPrinter::People(terminal) => terminal.asked(question),
        }
    }

    /// Makes room for something else that is about to be shown.
    pub(super) fn pause(&mut self) -> CliResult {
        match self {
            TurnPrinter::Json => Ok(()),
            TurnPrinter::People(terminal) => {
                terminal.close_line()?;
                terminal.status.clear();
                Ok(())
            }
        }
    }

    /// Shows what is being typed while the turn runs.
    pub(super) fn typed(&mut self, typed: &str) {
        if let TurnPrinter::People(terminal) = self {
            terminal.status.show_typed(typed);
        }
    }

    /// What is being typed when a turn begins, to be shown with it.
    pub(super) fn begin_typing(&mut self, typed: &str) {
        if let TurnPrinter::People(terminal) = self {
            terminal.status.keep_typed(typed);
        }
    }

    /// Takes away what is being typed: the line editor has it now.
    pub(super) fn end_typing(&mut self) -> CliResult {
        self.pause()?;
        self.typed("");
        Ok(())
    }

    /// The terminal has become this wide.
    pub(super) fn resize(&mut self, columns: usize) {
        if let TurnPrinter::People(terminal) = self {
            terminal.status.resize(columns);
        }
    }

    /// Whether a line of a reply was begun and not ended.
    pub(super) fn is_writing(&self) -> bool {
        matches!(self, TurnPrinter::People(terminal) if terminal.open_line)
    }

    /// Draws a reply that was not watched while it came.
    pub(super) fn past_reply(&mut self, reply: &str) -> CliResult {
        match self {
            TurnPrinter::Json => Ok(()),
            TurnPrinter::People(terminal) => {
                terminal.text(reply)?;
                terminal.close_line()
            }
        }
    }

    /// Shows what a command answered.
    pub(super) fn answer(&mut self, answer: &CommandReply, view: &AnswerView) -> CliResult {
        match self {
            TurnPrinter::Json => print_json_line(&answers::json(answer, view)),
            TurnPrinter::People(terminal) => {
                terminal.status.hide();
                print(&answers::draw(answer, view))
            }
        }
    }
}

impl TerminalPrinter {
    fn event(&mut self, event: &TurnEvent) -> CliResult {
        self.show(event)?;
        // What is typed stands below whatever was printed, until the turn is over.
        if !matches!(event.event, EventKind::Finished(_)) {
            self.status.refresh();
        }
        Ok(())
    }

    fn show(&mut self, event: &TurnEvent) -> CliResult {
        match &event.event {
            EventKind::Accepted => Ok(()),
            EventKind::Delivered { schedule, .. } => self.line(&delivered_line(schedule)),
            EventKind::TakenBack(event) => self.taken_back(event),
            EventKind::Requested { prompt_tokens, .. } => {
                // Another reply begins.
                self.close_line()?;
                self.printed.clear();
                self.denials = 0;
                self.wait(&status::reading(*prompt_tokens))
            }
            EventKind::Thinking { .. } => self.wait("thinking"),
            EventKind::Retrying { after_ms, error } => {
                let seconds = after_ms.div_ceil(1_000);
                self.line(&format!("{error}; asking again in {seconds} s"))
            }
            EventKind::Text { text } => self.text(text),
            EventKind::Asked(question) => self.asked(question),
            EventKind::Decided { answer, by, .. } => match answer {
                ApprovalAnswer::Once | ApprovalAnswer::Session => Ok(()),
                other => {
                    let by = by.as_ref().map(person_words).unwrap_or_default();
                    self.denials += 1;
                    self.line(&format!("{}{by}: the tool was not run", other.describe()))
                }
            },
            EventKind::Call(call) => {
                self.close_line()?;
                let about = describe_arguments(&call.arguments);
                self.wait(&status::calling(&first_chars(&call.name, MOST_NAME), &about))?;
                self.calls.insert(call.id.clone(), about);
                Ok(())
            }
            EventKind::Result { id, name, outcome, text } => {
                let about = self.calls.remove(id).unwrap_or_default();
                if *outcome == ToolOutcome::Denied && self.denials > 0 {
                    // Who said so was told; the rest is for the model.
                    self.denials -= 1;
                    return Ok(());
                }
                let name = first_chars(name, MOST_NAME);
                if *outcome != ToolOutcome::Done {
                    return self.exact_line(&status::failed(&name, &about, text));
                }
                match status::remembered(&name, text) {
                    // What was kept can be other words than the model's.
                    Some(remembered) => self.line(&remembered),
                    None => self.exact_line(&status::called(&name, &about, text.len())),
                }
            }
            EventKind::Notice(notice) => {
                let text = with_command(&notice.text, notice.remedy.as_ref());
                self.line(&format!("note: {text}"))
            }
            EventKind::Finished(finished) => self.finished(event, finished),
            EventKind::Snapshot(snapshot) => self.catch_up(snapshot),
        }
    }

    /// Tells in whose place the message is sent. That something was undone, its command says.
    fn taken_back(&mut self, event: &TakenBackEvent) -> CliResult {
        let turn = event.taken_back.map_or_else(String::new, |turn| format!(" of turn {turn}"));
        match event.reason {
            RetractionReason::Undo => Ok(()),
            RetractionReason::Retry => self.line(&format!("retry{turn}, which is taken back")),
            RetractionReason::Edit => {
                self.line(&format!("sent in place{turn}, which is taken back"))
            }
        }
    }

    /// Shows what is known of a turn of which events were missed.
    fn catch_up(&mut self, snapshot: &TurnSnapshot) -> CliResult {
        match snapshot.text.strip_prefix(&self.printed) {
            Some(rest) => self.text(rest),
            // It is another reply.
            None => {
                self.close_line()?;
                self.line("note: some of what happened was too much to be shown")?;
                self.printed.clear();
                self.text(&snapshot.text)
            }
        }
    }

    /// Shows what would be run, exactly, and how to say yes or no.
    fn asked(&mut self, question: &ApprovalQuestion) -> CliResult {
        self.close_line()?;
        self.status.clear();
        tell(&wants(question, PageWidth::of_stderr()));
        let approval = question.approval;
        tell(&format_args!(
            "the turn waits: /approve or /deny in a chat, or `recto approvals answer {approval} allow`"
        ));
        Ok(())
    }

    fn text(&mut self, text: &str) -> CliResult {
        self.status.clear();
        self.printed.push_str(text);
        // The terminal may be wider or narrower by now.
        self.markdown.set_width(PageWidth::of_stdout().columns());
        let drawn = self.markdown.push(text);
        self.print_piece(&drawn)
    }

    /// Prints a piece of the reply.
    fn print_piece(&mut self, piece: &str) -> CliResult {
        let piece = &match self.styled {
            // The status line writes it once more, and knows nothing of colours.
            OutputStyle::Colourless => strip_str(piece).to_string(),
            OutputStyle::Yes | OutputStyle::No => piece.to_owned(),
        };
        self.status.hide();
        self.status.printed(piece);
        if let Some(last) = piece.chars().next_back() {
            self.open_line = last != '\n';
        }
        match self.styled {
            OutputStyle::Yes | OutputStyle::Colourless => print_drawn(piece),
            OutputStyle::No => print_data(piece),
        }
    }

    /// Ends the reply's text so far, so that something else can be shown.
    fn close_line(&mut self) -> CliResult {
        let rest = self.markdown.finish();
        self.print_piece(&rest)?;
        if std::mem::take(&mut self.open_line) {
            self.print_piece("\n")?;
        }
        Ok(())
    }

    fn wait(&mut self, what: &str) -> CliResult {
        if !self.open_line {
            self.status.show(what);
        }
        Ok(())
    }

    /// Tells something on standard error. Whoever reads the reply where no person looks gets it byte
    /// for byte, whatever is told in its middle.
    fn line(&mut self, text: &str) -> CliResult {
        self.make_room()?;
        tell(&text);
        Ok(())
    }

    /// A line with words of the model, which can't pass for further lines.
    fn exact_line(&mut self, text: &str) -> CliResult {
        self.make_room()?;
        tell_exactly(text);
        Ok(())
    }

    /// Makes room for what is told, on a screen that the reply has, too.
    fn make_room(&mut self) -> CliResult {
        if self.styled != OutputStyle::No {
            self.close_line()?;
        }
        self.status.clear();
        Ok(())
    }

    fn finished(&mut self, event: &TurnEvent, finished: &FinishedTurn) -> CliResult {
        self.close_line()?;
        self.status.clear();
        if let Some(error) = &finished.error {
            let what = match finished.status {
                TurnEnding::Stopped => String::new(),
                _ => "error: ".to_owned(),
            };
            tell(&format_args!("{what}{}", error.message));
            if let Some(hint) = hint_with_command(error.hint.clone(), error.remedy.as_ref()) {
                tell(&format_args!("\nhint: {hint}"));
            }
        }
        if !finished.calls.is_empty() {
            let names: Vec<String> = finished.calls.iter().map(|call| tame(&call.name)).collect();
            tell(&format_args!("the client is to run: {}", names.join(", ")));
        }
        if self.styled != OutputStyle::No {
            self.status.note(&format!("{}{}", turn_label(event), described(&finished.usage)));
        }
        Ok(())
    }
}

/// The turn of an event, for people.
fn turn_label(event: &TurnEvent) -> String {
    event.turn.map_or_else(|| "a turn".to_owned(), |turn| format!("turn {turn}"))
}

/// What a turn cost, tokens from the cache apart.
fn described(usage: &UsageTotals) -> String {
    turn_usage_words(usage).iter().map(|words| format!(" · {words}")).collect()
}

/// What is said of an answer that a schedule has put into the session.
fn delivered_line(schedule: &str) -> String {
    format!("the schedule `{}` has put its answer into this session", tame(schedule))
}
