//! What commands answer, drawn for people and as JSON.

use recto_agent::{
    AnsweredApproval, COMMANDS, CommandReply, GuestBook, ItemChange, ItemExplanation,
    SessionRenewal, TurnContinues, UndoneExchange, memory_json, session_json, session_usage_json,
    summary_json,
};
use recto_store::{ApprovalAnswer, StoredSession};
use recto_workspace::AddedMemory;
use serde_json::{Value, json};

use super::help::{HelpKeys, help};
use super::session_settings;
use crate::commands::memory::one_line;
use crate::commands::sessions::{self, EffectiveSettings};
use crate::draw::{self, PageWidth};
use crate::output::{self, list_json, tame, tame_lines};

/// What an answer is drawn with.
pub(super) struct AnswerView {
    /// The settings that hold, which are shown in place of those that the session has.
    pub(super) holds: EffectiveSettings,
    /// With whom the sessions of a list are held.
    pub(super) guests: GuestBook,
}

/// Draws an answer.
pub(super) fn draw(answer: &CommandReply, view: &AnswerView) -> String {
    match answer {
        CommandReply::Help => help(PageWidth::of_stdout().columns(), HelpKeys::of_process()),
        CommandReply::Began(renewal) => began(renewal),
        CommandReply::Context(None) => "nothing has been sent in this session yet\n".to_owned(),
        CommandReply::Context(Some(request)) => draw::request(request, PageWidth::of_stdout()),
        CommandReply::Item(change) => item_change(change),
        CommandReply::Why(answers) => whys(answers),
        CommandReply::Usage(report) => draw::usage(report, PageWidth::of_stdout()),
        CommandReply::SessionUsage(usage) => draw::session_usage(usage),
        CommandReply::Remembered(added) => remembered(added),
        CommandReply::Answered(answered) => decided(answered),
        CommandReply::Models { names, current } => models(names, current.as_deref()),
        CommandReply::Settings(_) => session_settings::draw(&view.holds),
        CommandReply::Sessions(list) => {
            // They are all of the agent that is talked to.
            let agent = list.first().map_or("", |listed| &listed.session.agent);
            sessions::table(list, agent, &view.guests)
        }
        CommandReply::Undone(undone) => undone_text(undone),
        // The turn that it begins is shown.
        CommandReply::Resend(_) => String::new(),
        CommandReply::Edit(message) => format!(
            "the last message is:\n{}\n`/edit TEXT` sends another in its place\n",
            tame_lines(&message.text)
        ),
        CommandReply::Stopped(report) => sessions::stop_text(report) + "\n",
    }
}

pub(super) fn json(answer: &CommandReply, view: &AnswerView) -> Value {
    let (kind, data) = match answer {
        CommandReply::Help => {
            ("help", list_json("commands", COMMANDS.iter().map(|help| json!(help.name))))
        }
        CommandReply::Began(SessionRenewal { began, archived }) => {
            let mut data = session_json(began);
            data["archived_session"] = json!(archived.as_ref().map(|session| session.id));
            ("began", data)
        }
        CommandReply::Context(request) => {
            ("context", request.as_ref().map_or(Value::Null, |request| request.report()))
        }
        CommandReply::Item(change) => ("item", json!(change)),
        CommandReply::Why(answers) => ("why", json!({"items": answers})),
        CommandReply::Usage(report) => ("stats", report.json()),
        CommandReply::SessionUsage(usage) => {
            ("stats", json!({"session": session_usage_json(usage)}))
        }
        CommandReply::Remembered(added) => {
            let mut data = memory_json(&added.memory);
            data["was_there"] = json!(added.was_there);
            ("remembered", data)
        }
        CommandReply::Answered(answered) => {
            let approval = &answered.approval;
            let answer = approval.answer.as_ref().map(|decision| decision.answer);
            ("answered", json!({"approval": approval.id, "turn": approval.turn, "answer": answer}))
        }
        CommandReply::Models { names, current } => {
            ("models", json!({"models": names, "current": current}))
        }
        CommandReply::Settings(_) => ("settings", view.holds.json()),
        CommandReply::Sessions(list) => {
            ("sessions", list_json("sessions", list.iter().map(summary_json)))
        }
        CommandReply::Undone(undone) => ("undone", json!(undone)),
        CommandReply::Resend(inbound) => ("resend", json!({"text": inbound.visible_text()})),
        CommandReply::Edit(message) => ("edit", json!({"text": message.text})),
        CommandReply::Stopped(stopping) => ("stopped", json!(stopping)),
    };
    json!({"event": "answer", "kind": kind, "data": data})
}

/// Which session goes on, and how to come back to the one before.
fn began(renewal: &SessionRenewal) -> String {
    let began = tame(&renewal.began.label());
    match &renewal.archived {
        Some(StoredSession { id, .. }) => format!(
            "a new session began: {began}; the one before is in the archive (`recto chat \
             --session {id}` goes on with it)\n"
        ),
        None => format!("a new session began: {began}\n"),
    }
}

fn item_change(change: &ItemChange) -> String {
    format!("{}\n", change.change.describe(&tame(&change.item.to_string())))
}

fn whys(answers: &[ItemExplanation]) -> String {
    if answers.is_empty() {
        return "nothing has been sent in this session yet\n".to_owned();
    }
    answers.iter().map(|why| tame(&why.to_string()) + "\n").collect()
}

/// The columns of a message that was taken back.
const MOST_QUOTED: usize = 60;

fn undone_text(undone: &UndoneExchange) -> String {
    let short = tame(&output::one_line(&undone.text, MOST_QUOTED));
    let mut out = match undone.turn {
        Some(turn) => format!("taken back: turn {turn}, \"{short}\"\n"),
        None => format!("taken back: \"{short}\"\n"),
    };
    if !undone.stays_done.is_empty() {
        out.push_str("what its tools did stays done:\n");
    }
    for call in &undone.stays_done {
        out.push_str(&format!("  {} {}\n", tame(&call.tool), tame(&call.arguments)));
    }
    out
}

fn remembered(added: &AddedMemory) -> String {
    let AddedMemory { memory, was_there } = added;
    let how = if *was_there { "is remembered already" } else { "is remembered" };
    format!("{} {how}: {}\n", tame(&memory.name), tame(&one_line(&memory.text)))
}

/// What became of an answer, where the turn does not say so itself.
fn decided(answered: &AnsweredApproval) -> String {
    let id = answered.approval.id;
    let answer = answered.approval.answer.as_ref().map(|decision| decision.answer);
    match (answer, answered.goes_on) {
        (Some(decided @ (ApprovalAnswer::Expired | ApprovalAnswer::Withdrawn)), _) => {
            format!("approval {id} is {} already\n", decided.describe())
        }
        (_, TurnContinues::Here) => String::new(),
        (_, TurnContinues::Elsewhere) => {
            "the turn goes on in the process that runs it\n".to_owned()
        }
        (_, TurnContinues::WhenAllAreAnswered) => {
            "the turn goes on when its other questions are answered, too\n".to_owned()
        }
    }
}

fn models(names: &[String], current: Option<&str>) -> String {
    let line = |name: &String| {
        let mark = if current == Some(name) { "*" } else { " " };
        format!("{mark} {}\n", tame(name))
    };
    names.iter().map(line).collect()
}
