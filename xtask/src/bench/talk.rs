//! Small talk with the embedded model, in sessions of seven turns: how often it imitates the stamp
//! in front of each message, says once more what it has said, or goes in circles.
//!
//! All of it is counted in replies as the engine gives them, before an agent takes a stamp off.
//! The same sessions without stamps stand beside it, to tell what the stamp does from what the
//! model does. Whether the replies are any good is not judged.

use std::path::Path;
use std::sync::Arc;

use recto_context::{
    AssemblyInputs, Bootstrap, Carry, Catalog, ContextLimits, LeadingStamp, Message, MessageBody,
    MessageId, MessageStamp, Mode, ModeDecision, ModeReason, PageLayout, RequestContext, Tokens,
    ToolCalls, TurnNumber,
};
use recto_llm::{FinishReason, ModelReply, PromptCacheKey};
use serde_json::{Value, json};

use super::calls::workspace;
use super::model::{BenchModel, window};
use super::report::{BenchReport, Figure, FigureGoal, FigureRow, FigureUnit};
use crate::Result;
use crate::project::Project;

/// What a person says, a line a turn, with an empty line between sessions.
const SESSIONS: &str = include_str!("talk/sessions.txt");

/// How long a reply may be, in tokens.
const REPLY: u32 = 96;

/// The day of all sessions.
const DAY: &str = "2026-11-16";

/// Whether messages have stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TalkSetup {
    Stamped,
    Unstamped,
}

impl TalkSetup {
    fn name(self) -> &'static str {
        match self {
            TalkSetup::Stamped => "with stamps",
            TalkSetup::Unstamped => "without",
        }
    }
}

/// Plays every session in both setups on the model in `file`.
pub(super) fn run(file: &Path, project: &Project) -> Result<BenchReport> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(file, project))
}

async fn measure(file: &Path, project: &Project) -> Result<BenchReport> {
    let folder = workspace::write(project)?;
    let mut catalog = workspace::catalog(folder.path()).await?;
    catalog.tools = workspace::file_tools(folder.path());
    let model = BenchModel::load(file).await?.with_usual_words();
    let mut played = Vec::new();
    for setup in [TalkSetup::Stamped, TalkSetup::Unstamped] {
        for (number, lines) in (0..).zip(SESSIONS.split("\n\n")) {
            let session = TalkSession { catalog: &catalog, setup, number };
            played.extend(session.play(&model, lines).await?);
        }
        eprintln!("{}: {} turns", setup.name(), played.len());
    }
    Ok(report(&played))
}

/// A conversation to be played.
struct TalkSession<'a> {
    catalog: &'a Catalog,
    setup: TalkSetup,
    number: u32,
}

/// A turn that was played.
struct TalkTurn {
    setup: TalkSetup,
    said: String,
    reply: ModelReply,
    /// Whether the session had this very reply before.
    is_again: bool,
    /// From the first of its words to the last, in seconds.
    time: f64,
}

impl TalkSession<'_> {
    async fn play(&self, model: &BenchModel, lines: &str) -> Result<Vec<TalkTurn>> {
        let key = PromptCacheKey(u64::from(self.number));
        let mut history: Vec<Arc<Message>> = Vec::new();
        let mut carry = Carry::default();
        let mut turns: Vec<TalkTurn> = Vec::new();
        for (turn, line) in (1..).zip(lines.lines()) {
            let request = self.assemble(turn, line, &history, carry)?;
            let answer = model.ask(key, &request).await?;
            let body =
                MessageBody::Assistant { content: answer.reply.content.clone(), calls: Vec::new() };
            let id = MessageId(request.sent.id.0 + 1);
            history.extend([request.sent.clone(), Arc::new(Message { id, body })]);
            carry = request.carry.clone();
            let text = answer.reply.text();
            turns.push(TalkTurn {
                setup: self.setup,
                said: line.to_owned(),
                is_again: turns.iter().any(|before| before.reply.text() == text),
                time: (answer.last - answer.first).as_secs_f64(),
                reply: answer.reply,
            });
        }
        Ok(turns)
    }

    fn assemble(
        &self,
        turn: u32,
        line: &str,
        history: &[Arc<Message>],
        carry: Carry,
    ) -> Result<RequestContext> {
        let items = self.catalog.session_at_start();
        let inputs = AssemblyInputs::new(self.catalog, line)
            .message_id(MessageId(u64::from(turn) * 2 - 1))
            .turn(TurnNumber(turn))
            .model("bench")
            .session(&items)
            .mode(ModeDecision::new(Mode::Full, ModeReason::Configured))
            .layout(PageLayout { tool_calls: ToolCalls::Text, ..PageLayout::default() })
            .bootstrap(bootstrap())
            .window(window())
            .limits(ContextLimits { reply: Tokens::new(REPLY), ..ContextLimits::default() })
            .history(history)
            .carry(carry);
        // Some minutes between two messages, and some hours between two sessions.
        let minute = format!("{DAY} {:02}:{:02}", 8 + self.number, turn * 3);
        let inputs = match self.setup {
            TalkSetup::Stamped => inputs.stamp(MessageStamp::from_minute(&minute)),
            TalkSetup::Unstamped => inputs,
        };
        Ok(inputs.assemble()?)
    }
}

fn bootstrap() -> Bootstrap {
    Bootstrap {
        agent: "main".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        workspace: "~/.recto/workspace".into(),
        system: "linux".into(),
        day: DAY.into(),
        surface: "terminal".into(),
    }
}

impl TalkTurn {
    fn begins_with_stamp(&self) -> bool {
        LeadingStamp::split(&self.reply.text()).is_some()
    }

    /// Whether the day of the stamps stands anywhere in the reply.
    fn names_day(&self) -> bool {
        self.reply.text().contains(DAY)
    }

    fn goes_in_circles(&self) -> bool {
        self.reply.finish == FinishReason::Repetition
    }

    fn json(&self) -> Value {
        json!({
            "setup": self.setup.name(),
            "said": self.said,
            "reply": self.reply.text(),
            "finish": self.reply.finish,
            "tokens": self.reply.usage.completion,
        })
    }
}

fn report(played: &[TalkTurn]) -> BenchReport {
    let stamped = |turn: &&TalkTurn| turn.setup == TalkSetup::Stamped;
    let count = |is: fn(&TalkTurn) -> bool| {
        played.iter().filter(stamped).filter(|turn| is(turn)).count() as f64
    };
    let goals = vec![
        FigureGoal::at_most(
            "replies that begin with a stamp",
            0.0,
            count(TalkTurn::begins_with_stamp),
            FigureUnit::Count,
        ),
        FigureGoal::at_most(
            "the same reply again",
            0.0,
            count(|turn| turn.is_again),
            FigureUnit::Count,
        ),
    ];
    let setup = format!(
        "Sessions of small talk, seven turns each, replies of at most {REPLY} tokens, words chosen \
         as they are by default. `day`: the day of the stamps stands in the reply. `again`: the \
         very reply of an earlier turn of the session. `circles`: ended for repetition."
    );
    let rows = [TalkSetup::Stamped, TalkSetup::Unstamped].map(|setup| row(played, setup));
    let mut report = BenchReport::new(setup, rows.into(), goals);
    report.data = played.iter().map(TalkTurn::json).collect();
    report
}

fn row(played: &[TalkTurn], setup: TalkSetup) -> FigureRow {
    let turns: Vec<&TalkTurn> = played.iter().filter(|turn| turn.setup == setup).collect();
    let count = |name, is: fn(&TalkTurn) -> bool| Figure {
        name,
        value: turns.iter().filter(|turn| is(turn)).count() as f64,
        unit: FigureUnit::Count,
    };
    let tokens: u32 = turns.iter().filter_map(|turn| turn.reply.usage.completion).sum();
    let time: f64 = turns.iter().map(|turn| turn.time).sum();
    let speed =
        Figure { name: "tokens", value: f64::from(tokens) / time, unit: FigureUnit::PerSecond };
    let figures = vec![
        count("turns", |_| true),
        count("stamp", TalkTurn::begins_with_stamp),
        count("day", TalkTurn::names_day),
        count("again", |turn| turn.is_again),
        count("circles", TalkTurn::goes_in_circles),
        speed,
    ];
    FigureRow::new(setup.name(), figures)
}
