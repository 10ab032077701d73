//! How a turn is shown while it happens: drawn for a person, as plain text in a
//! pipe, or as JSON for programs.

use std::collections::HashMap;

use recto_agent::{Answer, Event, Finished, Question, Totals, TurnEvent};
use recto_store::{Answer as Decided, Ending};
use serde_json::json;

use super::answers;
use super::follow::wants;
use crate::failure::Failure;
use crate::output::{print, print_data, print_json_line, tell};
use crate::terminal::markdown::Renderer;
use crate::terminal::status::{self, Status};
use crate::terminal::{Styled, width};

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
    styled: Styled,
    markdown: Renderer,
    status: Status,
    /// What the calls under way are about, by their ids.
    calls: HashMap<String, String>,
    /// Whether text of this turn has been printed that no line break ended.
    open_line: bool,
}

impl TurnPrinter {
    pub(super) fn for_people() -> Self {
        let styled = Styled::on_stdout();
        TurnPrinter::People(Box::new(TerminalPrinter {
            styled,
            markdown: Renderer::new(width(), styled),
            status: Status::new(),
            calls: HashMap::new(),
            open_line: false,
        }))
    }

    pub(super) fn event(&mut self, event: &TurnEvent) -> Result<(), Failure> {
        match self {
            TurnPrinter::Json => print_json_line(event),
            TurnPrinter::People(terminal) => terminal.event(event),
        }
    }

    /// Something that happens in the session, but not in the turn that was asked
    /// for: one that was cut short is finished first. Its reply is not the answer.
    pub(super) fn other(&mut self, event: &TurnEvent) -> Result<(), Failure> {
        match (self, &event.event) {
            (TurnPrinter::Json, _) => print_json_line(event),
            (TurnPrinter::People(terminal), Event::Finished(finished)) => {
                let error = finished.error.as_ref().map(|error| error.message.as_str());
                let said = finished.reply.as_deref().or(error).unwrap_or_default();
                let status = finished.status.name();
                terminal
                    .line(&format!("turn {}, which was cut short, is {status}: {said}", event.turn))
            }
            (TurnPrinter::People(_), _) => Ok(()),
        }
    }

    /// Something went wrong with a message or a command.
    pub(super) fn failure(&mut self, failure: &Failure) -> Result<(), Failure> {
        match self {
            TurnPrinter::Json => {
                print_json_line(&json!({"event": "error", "message": failure.to_string()}))
            }
            TurnPrinter::People(_) => {
                tell(failure);
                Ok(())
            }
        }
    }

    /// Something else is about to be shown.
    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        match self {
            TurnPrinter::Json => Ok(()),
            TurnPrinter::People(terminal) => {
                terminal.close_line()?;
                terminal.status.clear();
                Ok(())
            }
        }
    }

    pub(super) fn answer(&mut self, answer: &Answer) -> Result<(), Failure> {
        match self {
            TurnPrinter::Json => print_json_line(&answers::json(answer)),
            TurnPrinter::People(_) => print(&answers::draw(answer)),
        }
    }
}

impl TerminalPrinter {
    fn event(&mut self, event: &TurnEvent) -> Result<(), Failure> {
        match &event.event {
            Event::Accepted => Ok(()),
            Event::Requested { prompt_tokens, .. } => self.wait(&status::reading(*prompt_tokens)),
            Event::Thinking { .. } => self.wait("thinking"),
            Event::Retrying { after_ms, error } => {
                let seconds = after_ms.div_ceil(1_000);
                self.line(&format!("{error}; asking again in {seconds} s"))
            }
            Event::Text { text } => self.text(text),
            Event::Asked(question) => self.asked(question),
            Event::Decided { answer, .. } => match answer {
                Decided::Once | Decided::Session => Ok(()),
                other => self.line(&format!("{}: the tool was not run", other.name())),
            },
            Event::Call { id, name, arguments } => {
                self.close_line()?;
                let about = about(arguments);
                self.wait(&status::calling(&short(name, MOST_NAME), &about))?;
                self.calls.insert(id.clone(), about);
                Ok(())
            }
            Event::Result { id, name, outcome, text } => {
                let about = self.calls.remove(id).unwrap_or_default();
                let name = short(name, MOST_NAME);
                self.line(&match *outcome {
                    "done" => status::called(&name, &about, text.len()),
                    _ => status::failed(&name, &about, text),
                })
            }
            Event::Notice { text } => self.line(&format!("note: {text}")),
            Event::Finished(finished) => self.finished(event, finished),
        }
    }

    /// What would be run, exactly, and how to say yes or no.
    fn asked(&mut self, question: &Question) -> Result<(), Failure> {
        self.line(&wants(question))?;
        let approval = question.approval;
        tell(&format_args!(
            "the turn waits: /approve or /deny, or `recto approvals answer {approval} allow`"
        ));
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.status.clear();
        let drawn = self.markdown.push(text);
        self.put(&drawn)
    }

    /// Prints a piece of the reply.
    fn put(&mut self, piece: &str) -> Result<(), Failure> {
        if let Some(last) = piece.chars().next_back() {
            self.open_line = last != '\n';
        }
        match self.styled {
            Styled::Yes => print(piece),
            Styled::No => print_data(piece),
        }
    }

    /// Ends the reply's text so far, so that something else can be shown.
    fn close_line(&mut self) -> Result<(), Failure> {
        let rest = self.markdown.finish();
        self.put(&rest)?;
        if std::mem::take(&mut self.open_line) {
            self.put("\n")?;
        }
        Ok(())
    }

    fn wait(&mut self, what: &str) -> Result<(), Failure> {
        if !self.open_line {
            self.status.show(what);
        }
        Ok(())
    }

    fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.close_line()?;
        self.status.clear();
        tell(&text);
        Ok(())
    }

    fn finished(&mut self, event: &TurnEvent, finished: &Finished) -> Result<(), Failure> {
        self.close_line()?;
        self.status.clear();
        if let Some(error) = &finished.error {
            let what = match finished.status {
                Ending::Stopped => String::new(),
                _ => "error: ".to_owned(),
            };
            tell(&format_args!("{what}{}", error.message));
            if let Some(hint) = &error.hint {
                tell(&format_args!("\nhint: {hint}"));
            }
        }
        if self.styled == Styled::Yes {
            self.status.note(&format!("turn {}{}", event.turn, described(&finished.usage)));
        }
        Ok(())
    }
}

/// What a turn cost, fresh and cached tokens apart.
fn described(usage: &Totals) -> String {
    let mut text = String::new();
    if let Some(prompt) = usage.prompt {
        text += &match usage.cached {
            Some(cached) => {
                format!(" · {} tokens read, {cached} cached", prompt.saturating_sub(cached))
            }
            None => format!(" · {prompt} tokens read"),
        };
    }
    if let Some(completion) = usage.completion {
        text += &format!(" · {completion} written");
    }
    if usage.requests > 1 {
        text += &format!(" · {} requests", usage.requests);
    }
    text
}

/// What a call is about: its arguments, short enough for a line.
fn about(arguments: &str) -> String {
    const MOST: usize = 60;
    let text = match serde_json::from_str(arguments) {
        Ok(serde_json::Value::Object(fields)) => {
            let texts = fields.values().map(|value| match value.as_str() {
                Some(text) => text.lines().next().unwrap_or_default().to_owned(),
                None => value.to_string(),
            });
            texts.collect::<Vec<_>>().join(", ")
        }
        _ => arguments.to_owned(),
    };
    short(&text, MOST)
}

/// The beginning of a text.
fn short(text: &str, most: usize) -> String {
    let cut: String = text.chars().take(most).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
