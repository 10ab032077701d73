//! What commands answer, drawn for people and as JSON.

use std::fmt::Write as _;

use recto_agent::{
    AnsweredApproval, COMMANDS, CommandReply, ItemChange, ItemExplanation, ItemOutcome,
    SessionSettings, StopOutcome, TurnContinues, session_usage_json,
};
use recto_store::ApprovalAnswer;
use recto_workspace::AddedMemory;
use serde_json::{Value, json};

use crate::commands::memory::{memory_json, one_line};
use crate::commands::sessions;
use crate::draw::{self, PageWidth, TextTable, wrap_words};
use crate::output::tame;

pub(super) fn draw(answer: &CommandReply) -> String {
    match answer {
        CommandReply::Help => help(),
        CommandReply::Began(session) => {
            format!("a new session began: {}\n", tame(&session.label()))
        }
        CommandReply::Context(None) => "nothing has been sent in this session yet\n".to_owned(),
        CommandReply::Context(Some(request)) => draw::request(request, PageWidth::of_stdout()),
        CommandReply::Item(change) => item_change(change),
        CommandReply::Why(answers) => whys(answers),
        CommandReply::Usage(report) => draw::usage(report, PageWidth::of_stdout()),
        CommandReply::SessionUsage(usage) => draw::session_usage(usage),
        CommandReply::Remembered(added) => remembered(added),
        CommandReply::Answered(answered) => decided(answered),
        CommandReply::Models { names, current } => models(names, current.as_deref()),
        CommandReply::Settings(settings) => settings_table(settings),
        CommandReply::Sessions(list) => {
            // They are all of the agent that is talked to.
            let agent = list.first().map_or("", |listed| &listed.session.agent);
            sessions::table(list, agent)
        }
        CommandReply::Stopped(StopOutcome::Now) => "stopping\n".to_owned(),
        CommandReply::Stopped(StopOutcome::Elsewhere) => {
            "a turn runs in another process; stop it there with Ctrl-C\n".to_owned()
        }
        CommandReply::Stopped(StopOutcome::Denied) => {
            "denied; the turn goes on without the tool\n".to_owned()
        }
        CommandReply::Stopped(StopOutcome::NothingRuns) => {
            "nothing runs in this session\n".to_owned()
        }
    }
}

pub(super) fn json(answer: &CommandReply) -> Value {
    let (kind, data) = match answer {
        CommandReply::Help => ("help", COMMANDS.iter().map(|help| json!(help.name)).collect()),
        CommandReply::Began(session) => ("began", sessions::session_json(session)),
        CommandReply::Context(request) => {
            ("context", request.as_ref().map_or(Value::Null, |request| request.report()))
        }
        CommandReply::Item(change) => ("item", json!(change)),
        CommandReply::Why(answers) => ("why", json!(answers)),
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
        CommandReply::Settings(settings) => ("settings", json!(settings)),
        CommandReply::Sessions(list) => {
            ("sessions", list.iter().map(sessions::summary_json).collect())
        }
        CommandReply::Stopped(stopping) => ("stopped", json!(stopping)),
    };
    json!({"event": "answer", "kind": kind, "data": data})
}

fn help() -> String {
    let mut out = String::new();
    let exit = ("/exit", "", "end the chat (also Ctrl-D)");
    let commands = COMMANDS.iter().map(|help| (help.name, help.arguments, help.about));
    for (name, arguments, about) in commands.chain([exit]) {
        let _ = writeln!(out, "{:<46} {about}", format!("{name} {arguments}"));
    }
    out
}

fn item_change(change: &ItemChange) -> String {
    let item = tame(&change.item.to_string());
    match change.change {
        ItemOutcome::Added => format!("{item} is in this session from the next turn on\n"),
        ItemOutcome::AlreadyThere => format!("{item} is in this session already\n"),
        ItemOutcome::Removed => {
            format!("{item} is out of this session, and does not come back by itself\n")
        }
        ItemOutcome::NotThere => format!("{item} is not in this session\n"),
    }
}

fn whys(answers: &[ItemExplanation]) -> String {
    if answers.is_empty() {
        return "nothing was sent yet, or the last request knew no item of that name\n".to_owned();
    }
    let line = |why: &ItemExplanation| tame(&why.to_string()) + "\n";
    answers.iter().map(|why| wrap_words(&line(why), 2, PageWidth::of_stdout())).collect()
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

fn settings_table(settings: &SessionSettings) -> String {
    let mut table = TextTable::new(["setting", "value"]);
    let shown = serde_json::to_value(settings).unwrap_or_default();
    // Who reads along is no setting: it was decided when the session began.
    let settable = || shown.as_object().into_iter().flatten().filter(|(key, _)| *key != "audience");
    for (key, value) in settable() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        table.row([key.clone(), value]);
    }
    match settable().next().is_none() {
        true => "this session sets nothing of its own\n".to_owned(),
        false => table.to_string(),
    }
}
