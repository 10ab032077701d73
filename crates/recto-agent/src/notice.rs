//! What a person is told in the course of a turn, as facts and as words.
//!
//! The words make sense on any surface, so they name no command. A surface that has
//! one for the remedy adds it; one that wants other words has the facts.

use std::path::PathBuf;

use recto_context::{ContentSource, DropReason, FileNotice, Layer, Remedy, Tokens};
use recto_store::TurnId;
use recto_workspace::{ProblemEffect, WorkspaceProblem};
use serde::{Deserialize, Serialize};

use crate::search::WordsOnlyReason;

/// Something that a person should know of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnNotice {
    /// The notice in words, for any surface.
    pub text: String,
    /// The same for programs.
    #[serde(flatten)]
    pub facts: NoticeFacts,
    /// What Recto can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

/// The facts of a notice. The name of a variant is its code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub enum NoticeFacts {
    /// A file, a skill, a server or a setting can't be used as it stands.
    SourceUnusable { source: ContentSource, problem: String },
    /// A file that says who the agent is, or how it behaves, can't be read.
    SystemFileUnusable { path: PathBuf, problem: String },
    /// A file of memories can't be used as it stands.
    MemoryFileUnusable { path: PathBuf, line: Option<usize>, problem: String },
    /// A mention leads nowhere, or there are too many.
    MentionNotFollowed { problem: String },
    /// Items and memories were searched by words alone.
    SearchedByWords { why: WordsOnlyReason },
    /// Something had to leave the request.
    LeftOut {
        dropped: Vec<DroppedFact>,
        /// Whether a summary stands for messages that have left.
        summarized: bool,
    },
    /// Images of earlier messages stand as text on the page, for a model that looks at none.
    ImagesAsText { model: String, images: String },
    /// Nobody knows the model's window.
    WindowAssumed { model: String, tokens: Tokens },
    /// The reply ended at its limit of tokens.
    ReplyCutOff { limit: Tokens },
    /// The provider withheld the rest of the reply.
    ReplyWithheld,
    /// The reply said the same over and over, and was ended.
    ReplyRepeated,
    /// The message asked to have something remembered, and nothing was.
    NothingRemembered,
    /// The server counted far fewer tokens than were sent.
    PromptCut { counted: u32, expected: Tokens },
    /// A tool's result was shortened to make room.
    ResultShortened { tool: String, bytes: usize, of_bytes: usize },
    /// A model could not summarise what leaves; the error has this code.
    SummaryFailed { error: String, problem: String },
    /// The session's Markdown file could not be written.
    SessionFileFailed { problem: String },
    /// The message waits for a turn of another process.
    WaitsForProcess { older: TurnId },
}

/// Something that left the request, or is shortened in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct DroppedFact {
    /// What it was, for people: `12 messages`.
    pub what: String,
    pub layer: Layer,
    /// What it cost before.
    pub tokens: Tokens,
    pub reason: DropReason,
}

impl TurnNotice {
    /// The notice of a problem with a file of the workspace, where something that a person wrote
    /// is not used for it.
    pub(crate) fn from_workspace(problem: &WorkspaceProblem) -> Option<Self> {
        let text = match problem.effect {
            ProblemEffect::Used => return None,
            ProblemEffect::SettingIgnored => problem.to_string(),
            ProblemEffect::LeftOut => format!("{problem}; it is left out until that is put right"),
        };
        let source = ContentSource::File(problem.path.clone());
        let facts = NoticeFacts::SourceUnusable { source, problem: problem.what.clone() };
        Some(TurnNotice { text, facts, remedy: problem.remedy.clone() })
    }

    /// The notice of a problem with a skill or a server.
    pub(crate) fn from_file(notice: &FileNotice) -> Self {
        let FileNotice { source, problem, remedy } = notice.clone();
        let facts = NoticeFacts::SourceUnusable { source, problem: problem.to_string() };
        TurnNotice { remedy, ..facts.into() }
    }

    /// The notice of a file of the system layer that is there and can't be used.
    pub(crate) fn from_system_file(problem: &WorkspaceProblem) -> Self {
        let path = problem.path.to_path_buf();
        let facts = NoticeFacts::SystemFileUnusable { path, problem: problem.what.clone() };
        let text = format!("{problem}; the agent answers without it");
        TurnNotice { text, facts, remedy: problem.remedy.clone() }
    }

    /// The notice of a problem with a file of memories.
    pub(crate) fn from_problem(problem: &WorkspaceProblem) -> Self {
        let facts = NoticeFacts::MemoryFileUnusable {
            path: problem.path.to_path_buf(),
            line: problem.line,
            problem: problem.what.clone(),
        };
        TurnNotice { text: problem.to_string(), facts, remedy: problem.remedy.clone() }
    }
}

impl From<NoticeFacts> for TurnNotice {
    fn from(facts: NoticeFacts) -> Self {
        TurnNotice { text: facts.describe(), remedy: facts.remedy(), facts }
    }
}

impl NoticeFacts {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            NoticeFacts::SearchedByWords { why } => why.remedy(),
            NoticeFacts::LeftOut { summarized: true, .. } => Some(Remedy::UndoSummary),
            NoticeFacts::NothingRemembered => Some(Remedy::Remember),
            _ => None,
        }
    }

    fn describe(&self) -> String {
        match self {
            NoticeFacts::SourceUnusable { problem, .. }
            | NoticeFacts::SystemFileUnusable { problem, .. }
            | NoticeFacts::MemoryFileUnusable { problem, .. }
            | NoticeFacts::MentionNotFollowed { problem }
            | NoticeFacts::SessionFileFailed { problem } => problem.clone(),
            NoticeFacts::SearchedByWords { why } => {
                format!("items were searched by words alone: {why}")
            }
            NoticeFacts::LeftOut { dropped, summarized } => describe_cuts(dropped, *summarized),
            NoticeFacts::ImagesAsText { model, images } => format!(
                "model `{model}` takes no images: in place of {images} sent earlier, it reads a \
                 line that says so"
            ),
            NoticeFacts::WindowAssumed { model, tokens } => format!(
                "the window of model `{model}` is unknown; {tokens} tokens are assumed (set \
                 `window` in [models.{model}])"
            ),
            NoticeFacts::ReplyCutOff { limit } => format!(
                "the reply was cut off at its limit of {limit} tokens (`max_output_tokens`, a quarter \
                 of the window, or the server's own)"
            ),
            NoticeFacts::ReplyWithheld => "the provider withheld the rest of the reply".to_owned(),
            NoticeFacts::ReplyRepeated => {
                "the reply was ended: the model repeated the same words over and over".to_owned()
            }
            NoticeFacts::NothingRemembered => {
                "nothing was remembered: what you asked for was not stored".to_owned()
            }
            NoticeFacts::PromptCut { counted, expected } => format!(
                "the server counted {counted} tokens in a prompt of about {expected}: it seems to \
                 have cut the prompt, so the model may not have seen all of it"
            ),
            NoticeFacts::ResultShortened { tool, bytes, of_bytes } => format!(
                "the result of {tool} was shortened to make room: {bytes} of {of_bytes} bytes"
            ),
            NoticeFacts::SummaryFailed { problem, .. } => {
                format!("the model could not summarise what leaves: {problem}")
            }
            NoticeFacts::WaitsForProcess { .. } => {
                "another process is talking in this session; this message waits for it".to_owned()
            }
        }
    }
}

fn describe_cuts(dropped: &[DroppedFact], summarized: bool) -> String {
    let cut = |cut: &DroppedFact| {
        format!("{} ({} tokens: {})", cut.what, cut.tokens, cut.reason.describe())
    };
    let cuts: Vec<String> = dropped.iter().map(cut).collect();
    let instead = match summarized {
        true => "; a summary stands for what has left, and can be undone",
        false => "",
    };
    format!("left out of the request: {}{instead}", cuts.join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::event::{EventKind, EventNumber, TurnEvent};

    #[track_caller]
    fn check(facts: NoticeFacts, expected: &Value) {
        let notice = TurnNotice::from(facts);
        let written = serde_json::to_value(&notice).unwrap();
        assert_eq!(written, *expected);
        assert_eq!(serde_json::from_value::<TurnNotice>(written).unwrap(), notice);
    }

    #[test]
    fn the_event_of_a_notice_has_all_of_it_beside_the_turn() {
        let notice = NoticeFacts::WaitsForProcess { older: "7".parse().unwrap() };
        let (session, turn) = ("1".parse().unwrap(), "8".parse().unwrap());
        let (turn, seq) = (Some(turn), EventNumber(9));
        let event = TurnEvent { session, turn, seq, event: EventKind::Notice(notice.into()) };
        let text = "another process is talking in this session; this message waits for it";
        assert_eq!(
            serde_json::to_value(event).unwrap(),
            json!({
                "session": 1, "turn": 8, "seq": 9, "event": "notice",
                "text": text, "code": "waits_for_process", "older": 7,
            })
        );
    }

    #[test]
    fn a_notice_has_its_code_facts_and_remedy_beside_its_words() {
        check(
            NoticeFacts::SearchedByWords { why: WordsOnlyReason::NoModel },
            &json!({
                "code": "searched_by_words",
                "why": "no_model",
                "text": "items were searched by words alone: there is no embedding model",
                "remedy": {"code": "pull_encoder"},
            }),
        );
        let dropped = vec![DroppedFact {
            what: "12 messages".to_owned(),
            layer: Layer::History,
            tokens: Tokens::new(300),
            reason: DropReason::NoRoom,
        }];
        check(
            NoticeFacts::LeftOut { dropped, summarized: true },
            &json!({
                "code": "left_out",
                "dropped": [{
                    "what": "12 messages", "layer": "history", "tokens": 300, "reason": "no_room",
                }],
                "summarized": true,
                "text": "left out of the request: 12 messages (300 tokens: no room in the \
                         window); a summary stands for what has left, and can be undone",
                "remedy": {"code": "undo_summary"},
            }),
        );
        check(
            NoticeFacts::ReplyWithheld,
            &json!({
                "code": "reply_withheld",
                "text": "the provider withheld the rest of the reply",
            }),
        );
    }
}
