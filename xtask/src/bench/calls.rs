//! Tool calls of a small model: minimal mode beside full mode, on the same
//! requests, with the workspace that `recto init` writes.
//!
//! In minimal mode the prompt is short and a grammar holds the model to one call,
//! so that every call can be read. Whether it is the right one is the model's own
//! doing, and what the mode is there to help with. In full mode the same tools
//! stand on the page as text and nothing is forced. Between them stands full mode
//! with the grammar, which tells what the short prompt does from what the grammar
//! does. Nothing that is called is run.

mod judge;
pub(super) mod workspace;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use recto_context::{
    AssemblyInputs, Bootstrap, CallId, Catalog, ContextLimits, ItemId, ItemKind, MessageStamp,
    Mode, ModeDecision, ModeReason, PageLayout, RequestContext, Tokens, ToolCall, ToolCalls,
    ToolChoice, ToolSpec, read_calls,
};
use recto_llm::{FinishReason, ModelReply, PromptCacheKey};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::model::{BenchModel, window};
use super::report::{BenchReport, Figure, FigureGoal, FigureRow, FigureTable, FigureUnit};
use super::stats::Samples;
use crate::Result;
use crate::project::Project;
use judge::{CallJudge, CallVerdict};

/// The requests, one a line, each with the call that is right.
const REQUESTS: &str = include_str!("calls/requests.jsonl");

/// Three tools with numbers, choices and truth values.
const DESK: &str = include_str!("calls/desk.json");

/// How long a reply may be, in tokens. Every right call is shorter than half of it.
const REPLY: u32 = 160;

/// How a request is put to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallSetup {
    /// In minimal mode, which holds it to a call.
    Minimal,
    /// In full mode, and held to a call all the same.
    Held,
    /// In full mode, in which the model may answer in words.
    Full,
}

/// The setups that are compared, in the order of the table.
const SETUPS: [CallSetup; 3] = [CallSetup::Minimal, CallSetup::Held, CallSetup::Full];

impl CallSetup {
    fn name(self) -> &'static str {
        match self {
            CallSetup::Minimal => "minimal",
            CallSetup::Held => "full, held to a call",
            CallSetup::Full => "full",
        }
    }

    fn mode(self) -> Mode {
        match self {
            CallSetup::Minimal => Mode::Minimal,
            CallSetup::Held | CallSetup::Full => Mode::Full,
        }
    }
}

/// A request, and the call that is right.
#[derive(Debug, Clone, Deserialize)]
struct CallTask {
    /// Which three tools are offered.
    tools: String,
    /// What the person says.
    say: String,
    tool: String,
    /// The arguments that matter.
    arguments: Map<String, Value>,
}

/// Asks the model in `file` every request in every setup.
pub(super) fn run(file: &Path, project: &Project) -> Result<BenchReport> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(file, project))
}

/// A request, and what became of it.
struct JudgedReply<'a> {
    task: &'a CallTask,
    setup: CallSetup,
    text: String,
    verdict: CallVerdict,
    prompt: u32,
    /// How many tokens the reply has.
    length: u32,
    finish: FinishReason,
    time: Duration,
}

async fn measure(file: &Path, project: &Project) -> Result<BenchReport> {
    let requests = read_requests()?;
    let folder = workspace::write(project)?;
    let catalogs = catalogs(&workspace::catalog(folder.path()).await?, folder.path())?;
    let model = BenchModel::load(file).await?;
    let mut answered = Vec::new();
    for setup in SETUPS {
        for (number, task) in requests.iter().enumerate() {
            let set = catalogs.keys().position(|name| *name == task.tools);
            let catalog = catalogs.get(&task.tools).ok_or("a request has tools of its own")?;
            let minimal = u64::from(setup.mode().is_minimal());
            let key = PromptCacheKey(set.unwrap_or(0) as u64 * 2 + minimal);
            answered.push(answer(&model, key, catalog, setup, task).await?);
            if (number + 1) % 25 == 0 {
                eprintln!("{}: {} of {}", setup.name(), number + 1, requests.len());
            }
        }
    }
    report(&answered).ok_or_else(|| "nothing was asked".into())
}

fn read_requests() -> Result<Vec<CallTask>> {
    let requests = REQUESTS.lines().map(serde_json::from_str);
    Ok(requests.collect::<std::result::Result<_, _>>()?)
}

/// The workspace with each set of tools in turn, by the set's name.
fn catalogs(catalog: &Catalog, folder: &Path) -> Result<BTreeMap<String, Catalog>> {
    let with = |tools: Vec<ToolSpec>| {
        let mut catalog = catalog.clone();
        // The clock's tool would be a fourth.
        catalog.skills.iter_mut().for_each(|skill| skill.tools.clear());
        catalog.tools = tools;
        catalog
    };
    let files = with(workspace::file_tools(folder));
    Ok([("files".to_owned(), files), ("desk".to_owned(), with(desk_tools()?))].into())
}

fn desk_tools() -> Result<Vec<ToolSpec>> {
    #[derive(Deserialize)]
    struct BenchTool {
        name: String,
        description: String,
        parameters: Value,
    }
    let tools: Vec<BenchTool> = serde_json::from_str(DESK)?;
    let spec = |tool: BenchTool| {
        let id = ItemId::new(ItemKind::Tool, tool.name);
        ToolSpec::new(id, tool.description, tool.parameters)
    };
    Ok(tools.into_iter().map(spec).collect())
}

async fn answer<'a>(
    model: &BenchModel,
    key: PromptCacheKey,
    catalog: &Catalog,
    setup: CallSetup,
    task: &'a CallTask,
) -> Result<JudgedReply<'a>> {
    let mut request = assemble(catalog, setup.mode(), &task.say)?;
    if setup == CallSetup::Held {
        request.tool_choice = ToolChoice::Required;
    }
    let answer = model.ask(key, &request).await?;
    let calls = calls_of(&answer.reply);
    let verdict = CallJudge::new(&catalog.tools).verdict(&calls, &task.tool, &task.arguments);
    Ok(JudgedReply {
        task,
        setup,
        text: reply_text(&answer.reply, &calls),
        verdict,
        prompt: answer.reply.usage.prompt.unwrap_or_default(),
        length: answer.reply.usage.completion.unwrap_or_default(),
        finish: answer.reply.finish.clone(),
        time: answer.last,
    })
}

/// The first message of a session.
fn assemble(catalog: &Catalog, mode: Mode, message: &str) -> Result<RequestContext> {
    let bootstrap = Bootstrap {
        agent: "main".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        workspace: "~/.recto/workspace".into(),
        system: "linux".into(),
        day: "2026-11-15".into(),
        surface: "terminal".into(),
    };
    let items = catalog.session_at_start();
    let request = AssemblyInputs::new(catalog, message)
        .stamp(MessageStamp::from_minute("2026-11-15 09:30"))
        .model("bench")
        .session(&items)
        .mode(ModeDecision::new(mode, ModeReason::Configured))
        .layout(PageLayout { tool_calls: ToolCalls::Text, ..PageLayout::default() })
        .bootstrap(bootstrap)
        .window(window())
        .limits(ContextLimits { reply: Tokens::new(REPLY), ..ContextLimits::default() })
        .assemble()?;
    Ok(request)
}

/// What the model wants called, as an agent reads it.
fn calls_of(reply: &ModelReply) -> Vec<ToolCall> {
    let (calls, _) = read_calls(&reply.text(), |place| CallId(place.to_string().into()));
    reply.calls.iter().cloned().chain(calls).collect()
}

/// The reply for people: its text, or its calls where they came apart from it.
fn reply_text(reply: &ModelReply, calls: &[ToolCall]) -> String {
    let text = reply.text();
    if !text.is_empty() {
        return text;
    }
    let calls = calls.iter().map(|call| format!("{}{}", call.name, call.arguments));
    calls.collect::<Vec<_>>().join(" ")
}

fn report(answered: &[JudgedReply<'_>]) -> Option<BenchReport> {
    let of = |set: Option<&str>, setup| {
        let is_meant = |each: &&JudgedReply<'_>| {
            each.setup == setup && set.is_none_or(|set| each.task.tools == set)
        };
        SuccessShares::from_answers(answered.iter().filter(is_meant))
    };
    let table = |set: &str| {
        let [minimal, held, full] = SETUPS.map(|setup| of(Some(set), setup));
        Some(FigureTable { name: format!("Tools: {set}"), rows: rows(&minimal?, &held?, &full?) })
    };
    let [minimal, held, full] = SETUPS.map(|setup| of(None, setup));
    let (minimal, held, full) = (minimal?, held?, full?);
    let by_full = minimal.right / full.right;
    let goals = vec![
        FigureGoal::at_least(
            "minimal: calls that are valid",
            1.0,
            minimal.valid,
            FigureUnit::Ratio,
        ),
        FigureGoal::at_least(
            "minimal: calls of the right tool",
            0.65,
            minimal.tool,
            FigureUnit::Ratio,
        ),
        FigureGoal::at_most(
            "minimal: calls that go in circles",
            0.0,
            minimal.circles,
            FigureUnit::Count,
        ),
        FigureGoal::at_most(
            "minimal: tokens of the longest call",
            f64::from(REPLY) - 1.0,
            minimal.longest,
            FigureUnit::Count,
        ),
        FigureGoal::at_least("right calls, minimal by full", 1.0, by_full, FigureUnit::Ratio),
    ];
    let setup = format!(
        "{} requests, three tools each, the most probable words. `valid`: calls can be read, and \
         their arguments fit the schema. `right`: valid, the right tool, and the arguments that \
         matter are right. `longest`: tokens of the longest reply, of at most {REPLY}. `circles`: \
         replies that were ended because they repeated themselves. What can't be divided, because there is nothing to divide by, is none.",
        minimal.requests
    );
    let mut report = BenchReport::new(setup, rows(&minimal, &held, &full), goals);
    report.details = ["files", "desk"].into_iter().filter_map(table).collect();
    report.data = answered.iter().map(JudgedReply::json).collect();
    Some(report)
}

fn rows(minimal: &SuccessShares, held: &SuccessShares, full: &SuccessShares) -> Vec<FigureRow> {
    let [named, between, last] = SETUPS.map(CallSetup::name);
    vec![
        minimal.row(named),
        held.row(between),
        full.row(last),
        minimal.divided_by(held).row("minimal by full, held"),
        minimal.divided_by(full).row("minimal by full"),
    ]
}

/// How many of some requests went well, each by their number.
#[derive(Debug, Clone, Copy)]
struct SuccessShares {
    requests: f64,
    valid: f64,
    tool: f64,
    right: f64,
    prompt: f64,
    /// The longest reply, in tokens.
    longest: f64,
    /// How many replies were ended because they went in circles.
    circles: f64,
    time: f64,
}

impl SuccessShares {
    fn from_answers<'a>(answered: impl Iterator<Item = &'a JudgedReply<'a>>) -> Option<Self> {
        let answered: Vec<&JudgedReply<'_>> = answered.collect();
        let requests = answered.len() as f64;
        let share = |is: fn(&CallVerdict) -> bool| {
            answered.iter().filter(|each| is(&each.verdict)).count() as f64 / requests
        };
        let prompts = Samples::new(answered.iter().map(|each| f64::from(each.prompt)))?;
        let lengths = Samples::new(answered.iter().map(|each| f64::from(each.length)))?;
        let circles =
            answered.iter().filter(|each| each.finish == FinishReason::Repetition).count();
        let times = Samples::new(answered.iter().map(|each| each.time.as_secs_f64() * 1e3))?;
        Some(SuccessShares {
            requests,
            valid: share(|verdict| verdict.valid),
            tool: share(|verdict| verdict.tool),
            right: share(|verdict| verdict.right),
            prompt: prompts.percentile(50),
            longest: lengths.percentile(100),
            circles: circles as f64,
            time: times.percentile(50),
        })
    }

    /// Each share divided by that of another.
    fn divided_by(&self, other: &SuccessShares) -> SuccessShares {
        SuccessShares {
            requests: self.requests / other.requests,
            valid: self.valid / other.valid,
            tool: self.tool / other.tool,
            right: self.right / other.right,
            prompt: self.prompt / other.prompt,
            longest: self.longest / other.longest,
            circles: self.circles / other.circles,
            time: self.time / other.time,
        }
    }

    fn row(&self, name: &'static str) -> FigureRow {
        let figure = |name, value, unit| Figure { name, value, unit };
        let is_ratio = self.requests <= 1.0;
        let unit = |unit| if is_ratio { FigureUnit::Ratio } else { unit };
        let figures = vec![
            figure("requests", self.requests, unit(FigureUnit::Count)),
            figure("valid", self.valid, FigureUnit::Ratio),
            figure("right tool", self.tool, FigureUnit::Ratio),
            figure("right", self.right, FigureUnit::Ratio),
            figure("prompt", self.prompt, unit(FigureUnit::Count)),
            figure("longest", self.longest, unit(FigureUnit::Count)),
            figure("circles", self.circles, unit(FigureUnit::Count)),
            figure("time", self.time, unit(FigureUnit::Milliseconds)),
        ];
        FigureRow::new(name, figures)
    }
}

impl JudgedReply<'_> {
    fn json(&self) -> Value {
        let CallVerdict { valid, tool, right } = self.verdict;
        json!({
            "way": self.setup.name(),
            "tools": self.task.tools,
            "say": self.task.say,
            "tool": self.task.tool,
            "arguments": self.task.arguments,
            "said": self.text,
            "valid": valid,
            "right_tool": tool,
            "right": right,
            "prompt": self.prompt,
            "tokens": self.length,
            "finish": self.finish,
            "time_ms": self.time.as_secs_f64() * 1e3,
        })
    }
}

#[cfg(test)]
mod tests;
