//! `recto approvals`: the questions whether a tool may run, and answers to them
//! from outside the chat.
//!
//! The Recto that asked goes on by itself once it has its answer. Where that one
//! has ended, the turn goes on here, until it is over or asks again.

use std::collections::HashMap;
use std::process::ExitCode;

use recto_agent::{
    Actor, ActorRole, Agent, AnsweredApproval, ApprovalQuestion, EventCursor, EventKind,
    EventListener, FinishedTurn, GuestBook, Right, TurnContinues, approval_json,
    describe_arguments,
};
use recto_store::{
    ApprovalAnswer, ApprovalDecision, ApprovalId, Moment, NewApproval, RowId, Store, StoreError,
    StoredApproval, StoredSession, TurnEnding, TurnOwner,
};
use recto_tools::ToolOutcome;
use serde_json::json;

use super::sessions::local;
use crate::cli::{AnswerArg, ApprovalCommand};
use crate::config::{LoadedConfig, Settings};
use crate::draw::{PageWidth, TextTable, exact_line, wrap_exactly};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{
    list_json, print, print_json, print_text, tame, tame_lines, tell, tell_exactly,
};
use crate::remedy_words::with_command;
use crate::setup;
use crate::terminal::status;

/// The exit code that says that the turn waits for another answer.
const WAITS: u8 = 3;

impl From<AnswerArg> for ApprovalAnswer {
    fn from(answer: AnswerArg) -> Self {
        match answer {
            AnswerArg::Allow => ApprovalAnswer::Once,
            AnswerArg::Session => ApprovalAnswer::Session,
            AnswerArg::Deny => ApprovalAnswer::Denied,
        }
    }
}

pub(crate) fn run(home: &RectoHome, command: &ApprovalCommand) -> CliResult<ExitCode> {
    let config = setup::load_config(home, Vec::new())?;
    match command {
        ApprovalCommand::List(format) => {
            setup::runtime()?.block_on(list(&config.settings, format.json))
        }
        ApprovalCommand::Show { id, json } => {
            setup::runtime()?.block_on(show(&config.settings, *id, *json))
        }
        ApprovalCommand::Answer { id, answer: word, json } => {
            let runtime = setup::runtime()?;
            let (outcome, agent) = runtime.block_on(answer(home, &config, *id, (*word).into()))?;
            if let Some(agent) = agent {
                // A turn that waits goes on when it has its answer, and not before.
                setup::shut_down(runtime, agent);
            }
            tell_outcome(&outcome, *json)
        }
    }
}

async fn list(settings: &Settings, as_json: bool) -> CliResult<ExitCode> {
    let store = setup::readable_store(settings)?;
    let mut open = Vec::new();
    for approval in store.open_approvals(Moment::now()).await? {
        let session = store.session(approval.session).await?;
        open.push((approval, session));
    }
    if as_json {
        let json = |(approval, session): &(StoredApproval, Option<StoredSession>)| {
            approval_json(approval, session.as_ref())
        };
        print_json(&list_json("approvals", open.iter().map(json)))?;
    } else if open.is_empty() {
        tell(&"nothing waits for an answer");
    } else {
        let guests = GuestBook::load(&store).await?;
        print(&drawn(&open, &guests))?;
        tell(&"answer with `recto approvals answer NUMBER allow`, or `session`, or `deny`");
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(settings: &Settings, id: ApprovalId, as_json: bool) -> CliResult<ExitCode> {
    let store = setup::readable_store(settings)?;
    let approval = store.approval(id).await?.ok_or_else(|| no_such_approval(id))?;
    let session = store.session(approval.session).await?;
    if as_json {
        print_json(&approval_json(&approval, session.as_ref()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let answer = answer_text(&approval);
    let guests = GuestBook::load(&store).await?;
    print(&format!("{}\nanswer: {answer}\n", drawn(&[(approval, session)], &guests)))?;
    Ok(ExitCode::SUCCESS)
}

/// What was said to a question, by whom and when, as people read it: `denied by you, …`.
pub(crate) fn answer_text(approval: &StoredApproval) -> String {
    let Some(ApprovalDecision { answer, at, by }) = &approval.answer else {
        return "not answered yet".to_owned();
    };
    let by = by.as_ref().map(|by| person_words(&Actor::from_store(by))).unwrap_or_default();
    format!("{}{by}, {}", answer.describe(), local(*at))
}

/// Who gave an answer. Whoever sits at the terminal is the owner.
pub(crate) fn person_words(by: &Actor) -> String {
    match by.role {
        ActorRole::Owner => " by you".to_owned(),
        _ => format!(" by {}", tame(by.name.as_str())),
    }
}

/// Draws a line for each question, and below them what exactly each would do.
fn drawn(open: &[(StoredApproval, Option<StoredSession>)], guests: &GuestBook) -> String {
    let mut table = TextTable::new(["number", "session", "tool", "asked", "expires"]);
    table.align_right(0);
    for (approval, session) in open {
        let question = &approval.question;
        table.row([
            approval.id.to_string(),
            match session {
                Some(session) => match guests.find(session) {
                    Some(guest) => format!("{} with {guest}", session.label()),
                    None => session.label(),
                },
                None => approval.session.to_string(),
            },
            question.tool.key(),
            local(question.asked),
            local(question.expires),
        ]);
    }
    let width = PageWidth::of_stdout();
    let details = open.iter().map(|(approval, _)| {
        let NewApproval { tool, title, detail, .. } = &approval.question;
        let title = exact_line(&format!("{}: {}: {title}", approval.id, tool.key()), width);
        format!("\n{title}\n{}", wrap_exactly(&tame_lines(detail.trim_end()), 2, width))
    });
    table.draw(width) + &details.collect::<String>()
}

/// The result of an answer: the question, and what became of its turn.
struct AnswerReport {
    approval: StoredApproval,
    session: Option<StoredSession>,
    goes_on: TurnContinues,
    /// What became of the calls that it was asked with, if the turn went on here.
    calls: Vec<CallReport>,
    /// What the person is told besides.
    notes: Vec<String>,
    /// How the turn ended, if it went on here.
    finished: Option<FinishedTurn>,
    /// What it asks next, if it does.
    next: Option<ApprovalQuestion>,
}

/// A call of the round that was asked about, and its end.
struct CallReport {
    name: String,
    /// What it was about, in a few words.
    about: String,
    outcome: ToolOutcome,
    /// The text that the model gets to see.
    text: String,
}

impl AnswerReport {
    fn new(
        approval: StoredApproval,
        session: Option<StoredSession>,
        goes_on: TurnContinues,
    ) -> Self {
        let (calls, notes) = (Vec::new(), Vec::new());
        AnswerReport { approval, session, goes_on, calls, notes, finished: None, next: None }
    }

    /// Follows the turn until it is over or asks again.
    async fn follow(&mut self, events: &mut EventListener) {
        let (mut begun, mut is_of_round) = (HashMap::new(), true);
        // It reads faster than a turn tells, so that no snapshot ever stands for its end.
        while let Some(event) = events.next().await {
            if event.turn != Some(self.approval.turn) {
                continue;
            }
            match event.event {
                EventKind::Asked(question) => self.next = Some(question),
                EventKind::Finished(finished) => self.finished = Some(finished),
                EventKind::Requested { .. } => {
                    is_of_round = false;
                    continue;
                }
                EventKind::Call(call) => {
                    begun.insert(call.id, describe_arguments(&call.arguments));
                    continue;
                }
                EventKind::Result { id, name, outcome, text } if is_of_round => {
                    let about = begun.remove(&id).unwrap_or_default();
                    self.calls.push(CallReport { name, about, outcome, text });
                    continue;
                }
                EventKind::Notice(notice) => {
                    self.notes.push(with_command(&notice.text, notice.remedy.as_ref()));
                    continue;
                }
                _ => continue,
            }
            break;
        }
    }
}

impl CallReport {
    /// The line that a chat has of it; none of one that was denied, which the answer says.
    fn line(&self) -> Option<String> {
        let CallReport { name, about, outcome, text } = self;
        match outcome {
            ToolOutcome::Denied => None,
            ToolOutcome::Done => Some(status::called(name, about, text.len())),
            ToolOutcome::Failed | ToolOutcome::Refused => Some(status::failed(name, about, text)),
        }
    }
}

/// Answers a question. The agent comes along where the turn goes on here.
async fn answer(
    home: &RectoHome,
    config: &LoadedConfig,
    id: ApprovalId,
    answer: ApprovalAnswer,
) -> CliResult<(AnswerReport, Option<Agent>)> {
    let store = setup::store(&config.settings)?;
    if is_waited_for(&store, id).await? {
        let actor = setup::actor();
        actor.must_have(Right::for_answer(answer))?;
        let by = Some(actor.to_store());
        let decision = ApprovalDecision { answer, at: Moment::now(), by };
        let approval = store.answer_approval(id, decision).await?;
        let goes_on = TurnContinues::Elsewhere;
        let session = store.session(approval.session).await?;
        return Ok((AnswerReport::new(approval, session, goes_on), None));
    }
    let settings = asking_agent(home, config, &store, id).await?;
    let settings = setup::with_model(settings, None).await?;
    let agent = setup::idle_agent(home, &settings, store)?;
    let outcome = go_on(&agent, id, answer).await?;
    Ok((outcome, Some(agent)))
}

/// The settings of the agent whose turn asks, in the folder of its session.
async fn asking_agent(
    home: &RectoHome,
    config: &LoadedConfig,
    store: &Store,
    id: ApprovalId,
) -> CliResult<Settings> {
    let Some(approval) = store.approval(id).await? else { return Ok(config.settings.clone()) };
    let Some(session) = store.session(approval.session).await? else {
        return Ok(config.settings.clone());
    };
    let mut settings = setup::session_settings(config, &session)?.clone();
    setup::enter_folder(home, &mut settings, &session)?;
    Ok(settings)
}

/// Whether another process waits for the answer; then no model is needed here.
async fn is_waited_for(store: &Store, id: ApprovalId) -> CliResult<bool> {
    let approval = store.approval(id).await?.ok_or_else(|| no_such_approval(id))?;
    let turn = store.turn(approval.turn).await?;
    Ok(turn.and_then(|turn| turn.owner) == Some(TurnOwner::Elsewhere))
}

fn no_such_approval(id: ApprovalId) -> CliFailure {
    CliFailure::from(StoreError::NotFound(RowId::Approval(id)))
        .hint("`recto approvals list` lists those that are open")
}

/// Answers, and follows the turn where it goes on here.
async fn go_on(agent: &Agent, id: ApprovalId, answer: ApprovalAnswer) -> CliResult<AnswerReport> {
    let asked = agent.store().approval(id).await?;
    let actor = setup::actor();
    let events = match asked {
        Some(approval) => Some(agent.listen(&actor, approval.session, EventCursor::Now).await?),
        None => None,
    };
    let AnsweredApproval { approval, goes_on } = agent.answer(&actor, id, answer).await?;
    let session = agent.store().session(approval.session).await?;
    let mut outcome = AnswerReport::new(approval, session, goes_on);
    if let Some(mut events) = events.filter(|_| goes_on == TurnContinues::Here) {
        outcome.follow(&mut events).await;
    }
    Ok(outcome)
}

fn tell_outcome(outcome: &AnswerReport, as_json: bool) -> CliResult<ExitCode> {
    let code = match (&outcome.finished, &outcome.next) {
        (Some(finished), _) => match finished.status {
            TurnEnding::Done | TurnEnding::HandedOut => ExitCode::SUCCESS,
            TurnEnding::Failed | TurnEnding::Stopped | TurnEnding::Interrupted => ExitCode::FAILURE,
        },
        (None, Some(_)) => ExitCode::from(WAITS),
        _ => ExitCode::SUCCESS,
    };
    if as_json {
        let mut value = approval_json(&outcome.approval, outcome.session.as_ref());
        value["goes_on"] = json!(match outcome.goes_on {
            TurnContinues::Here => "here",
            TurnContinues::Elsewhere => "elsewhere",
            TurnContinues::WhenAllAreAnswered => "when_all_are_answered",
        });
        let call = |CallReport { name, outcome, text, .. }: &CallReport| json!({"name": name, "outcome": outcome.name(), "text": text});
        value["calls"] = outcome.calls.iter().map(call).collect();
        value["finished"] = json!(outcome.finished);
        value["next"] = json!(outcome.next);
        print_json(&value)?;
        return Ok(code);
    }
    let decision = outcome.approval.answer.as_ref();
    let answer = decision.map_or("open", |decision| decision.answer.describe());
    let id = outcome.approval.id;
    let goes_on = match outcome.goes_on {
        TurnContinues::Here => "the turn goes on here",
        TurnContinues::Elsewhere => "the Recto that asked goes on",
        TurnContinues::WhenAllAreAnswered => "other questions of the turn are open",
    };
    tell(&format_args!("approval {id}: {answer}; {goes_on}"));
    for note in &outcome.notes {
        tell(&format_args!("note: {note}"));
    }
    for line in outcome.calls.iter().filter_map(CallReport::line) {
        tell_exactly(&line);
    }
    if let Some(ApprovalQuestion { approval, tool, title, .. }) = &outcome.next {
        tell_exactly(&format!("the turn asks again (approval {approval}): {tool}: {title}"));
    }
    if let Some(finished) = &outcome.finished {
        if let Some(reply) = &finished.reply {
            print_text(&format!("{reply}\n"))?;
        }
        if let Some(error) = &finished.error {
            tell(&format_args!("error: {}", error.message));
        }
    }
    Ok(code)
}
