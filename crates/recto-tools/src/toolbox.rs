//! The toolbox: runs the calls of a round side by side, and gives a result for
//! every one of them, whatever happens.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::FutureExt;
use futures_util::stream::{self, Stream, StreamExt};
use recto_context::{Catalog, ContentHash, ItemId, OffReason, ToolCall, ToolSpec, nearest_name};
use tokio::time::timeout;

use crate::arguments::CallArguments;
use crate::blocking::{Stop, blocking};
use crate::clip::clip_name;
use crate::files::{self, FileAccess};
use crate::mcp::ServerRegistry;
use crate::options::{CallLimits, ToolOptions};
use crate::policy::{ApprovalMode, ToolPolicy};
use crate::process::Launcher;
use crate::programs::SkillPrograms;
use crate::reading::reading_tools;
use crate::schema::SchemaCache;
use crate::shorten::shorten;
use crate::tool::{
    ApprovalNeed, CallContext, Consent, Tool, ToolAction, ToolClass, ToolOutcome, ToolResult,
};

/// Calls of one round that run at the same time. Further ones wait their turn,
/// so that a model can't open files or threads without end.
const AT_ONCE: usize = 16;

/// No call takes longer, whoever keeps its time.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

/// Offered tools that are named to a model which asked for another.
const MAX_NAMED: usize = 20;

/// The tools that Recto can run.
pub struct Toolbox {
    built_in: Vec<Arc<dyn Tool>>,
    programs: SkillPrograms,
    servers: ServerRegistry,
    policy: ToolPolicy,
    limits: CallLimits,
    schemas: Arc<SchemaCache>,
}

/// The calls that a session allows without a question.
#[derive(Debug, Clone, Default)]
pub struct SessionLeave {
    /// When a person is asked.
    pub approval: ApprovalMode,
    /// Tools that a person has allowed for the session, each with what it was then:
    /// what has changed since is asked about again.
    pub tools: HashMap<ItemId, ContentHash>,
}

/// The judgement on one call: it runs, a person is asked, or it can't be made.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolCallVerdict {
    /// The call may run.
    Go(Consent),
    /// A person has to allow it, and is shown this.
    Ask(Box<ApprovalRequest>),
    /// It can't be made, and so need not be asked about. It is not tried, either:
    /// another call of the round could make it possible in between.
    No(CallRefusal),
}

/// A question to a person: whether this action may be done.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// The tool that was called.
    pub tool: ItemId,
    /// The hash of what the tool is now, for a person who allows it for the session.
    pub identity: ContentHash,
    /// The action that the call would do.
    pub action: ToolAction,
}

/// The reason why a call is not made, as its result tells the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRefusal {
    /// Whether it was refused, denied, or has failed.
    pub outcome: ToolOutcome,
    /// What the model is told.
    pub text: String,
}

/// The decision about a call, by settings or by a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallPermit {
    /// The call may run.
    Go(Consent),
    /// A person said no, or nobody answered; the model is told this.
    Denied(String),
    /// The call can't be made.
    No(CallRefusal),
}

impl Toolbox {
    /// Makes a toolbox with these tools and no others.
    pub fn with_tools(tools: Vec<Arc<dyn Tool>>, limits: CallLimits) -> Self {
        let options = ToolOptions { limits, ..ToolOptions::new("") };
        Toolbox { built_in: tools, ..Toolbox::new(options) }
    }

    /// Makes a toolbox with the tools that come with Recto (those that read items and those for
    /// files), those that skills declare, and those of MCP servers.
    pub fn new(options: ToolOptions) -> Self {
        let launcher = Launcher::new(options.programs.launcher.clone());
        let servers = ServerRegistry::new(
            options.guarded_servers(),
            options.server_cache.clone(),
            options.server_logs.clone(),
            options.server_search_path(),
            launcher.keeper().clone(),
        );
        let (limits, policy) = (options.limits, options.policy.clone());
        let programs = SkillPrograms::new(launcher, &options);
        let reading = reading_tools().into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>);
        let mut built_in: Vec<Arc<dyn Tool>> = reading.collect();
        built_in.extend(files::file_tools(FileAccess::new(options)));
        Toolbox { built_in, programs, servers, policy, limits, schemas: Arc::default() }
    }

    /// Adds a tool that needs more than this crate knows of.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        self.built_in.push(tool);
    }

    /// The specs of the built-in tools, for the catalog. Without `read_item` and
    /// `read_skill`, which the assembler offers where they belong.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.built_in.iter().filter_map(|tool| tool.spec()).cloned().collect()
    }

    /// Whether models call a built-in tool by this name, and it changes nothing.
    pub fn only_reads(&self, called: &str) -> bool {
        let named = |tool: &&Arc<dyn Tool>| *tool.id().name == *called;
        self.built_in.iter().filter(named).any(|tool| tool.class() == ToolClass::Reads)
    }

    /// The MCP servers that tools are called on.
    pub fn servers(&self) -> &ServerRegistry {
        &self.servers
    }

    /// The rule by which a person is asked, where a session sets no other.
    pub fn approval(&self) -> ApprovalMode {
        self.policy.approval
    }

    /// Whether calls of a tool need a person.
    pub fn asks(&self, spec: &ToolSpec, context: &CallContext, approval: ApprovalMode) -> bool {
        let tool = self.tool(spec, &context.catalog);
        let class = tool.as_ref().map_or(ToolClass::Reads, |tool| tool.class());
        let is_unseen = tool.is_some_and(|tool| tool.unseen_skill(context).is_some());
        self.policy.asks(spec, class, approval) || is_unseen
    }

    /// Whether a person has to be asked before a tool of this class runs, that is not in here.
    pub fn asks_as(&self, spec: &ToolSpec, class: ToolClass, approval: ApprovalMode) -> bool {
        self.policy.asks(spec, class, approval)
    }

    /// The folders of skills that a person was shown for the first time, and allowed, with these
    /// permits.
    pub fn shown_skills(
        &self,
        calls: &[ToolCall],
        permits: &[CallPermit],
        offered: &[ToolSpec],
        context: &CallContext,
    ) -> Vec<PathBuf> {
        let is_shown = |permit: &CallPermit| matches!(permit, CallPermit::Go(Consent::To(_)));
        let shown = calls.iter().zip(permits).filter(|(_, permit)| is_shown(permit));
        let tools = shown.filter_map(|(call, _)| self.find(call, offered, &context.catalog));
        tools.filter_map(|(_, tool)| tool.unseen_skill(context)).collect()
    }

    /// Says of each call whether it may run. What is not offered, or needs nobody's
    /// word, may: running it says what is wrong with it.
    pub async fn judge(
        &self,
        calls: &[ToolCall],
        offered: &[ToolSpec],
        context: &CallContext,
        leave: &SessionLeave,
    ) -> Vec<ToolCallVerdict> {
        let mut verdicts = Vec::new();
        for call in calls {
            verdicts.push(self.judge_one(call, offered, context, leave).await);
        }
        verdicts
    }

    async fn judge_one(
        &self,
        call: &ToolCall,
        offered: &[ToolSpec],
        context: &CallContext,
        leave: &SessionLeave,
    ) -> ToolCallVerdict {
        const GO: ToolCallVerdict = ToolCallVerdict::Go(Consent::Unasked);
        let Some((spec, tool)) = self.find(call, offered, &context.catalog) else { return GO };
        let class = tool.class();
        let is_unseen = tool.unseen_skill(context).is_some();
        let asks = self.policy.asks(spec, class, leave.approval) || is_unseen;
        if !asks && class != ToolClass::Writes {
            return GO;
        }
        let described = self.described(call, spec, &*tool, context);
        let action = match timeout(self.limits.time_limit, described).await {
            Ok(Ok(action)) => action,
            // Whatever becomes of it, nobody has to be asked.
            _ if !asks => return GO,
            Ok(Err(refusal)) => return ToolCallVerdict::No(refusal),
            Err(_) => {
                let text = format!("{} was not run: looking at it took too long", spec.called);
                return ToolCallVerdict::No(CallRefusal { outcome: ToolOutcome::Refused, text });
            }
        };
        let identity = tool.identity(context);
        match action.needs {
            // Nobody is to be asked, so the tool will refuse it.
            ApprovalNeed::Person if leave.approval == ApprovalMode::Never => return GO,
            ApprovalNeed::Person => {}
            ApprovalNeed::Leave if !asks => return GO,
            ApprovalNeed::Leave if leave.tools.get(&spec.id) == Some(&identity) => {
                return ToolCallVerdict::Go(Consent::ToTool);
            }
            ApprovalNeed::Leave => {}
        }
        ToolCallVerdict::Ask(Box::new(ApprovalRequest { tool: spec.id.clone(), identity, action }))
    }

    /// Says what a call would do, without doing it; or why it can't be made.
    pub async fn describe(
        &self,
        call: &ToolCall,
        offered: &[ToolSpec],
        context: &CallContext,
    ) -> Result<ToolAction, String> {
        let Some((spec, tool)) = self.find(call, offered, &context.catalog) else {
            return Err(not_offered(&call.name, offered));
        };
        let described = self.described(call, spec, &*tool, context).await;
        described.map_err(|refusal| refusal.text)
    }

    async fn described(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        tool: &dyn Tool,
        context: &CallContext,
    ) -> Result<ToolAction, CallRefusal> {
        let name = &spec.called;
        let arguments = self.arguments(call, spec).await.map_err(|advice| CallRefusal {
            outcome: ToolOutcome::Refused,
            text: format!("{name} was not run: {advice}"),
        })?;
        tool.describe(&arguments, context).await.map_err(|error| CallRefusal {
            outcome: ToolOutcome::Failed,
            text: format!("{name} failed: {error}"),
        })
    }

    /// Runs the calls of a round as they are permitted, and gives each result as
    /// soon as it is there, with the position of its call. Calls run side by side;
    /// as soon as one of them may write files, they run one after the other, as the
    /// model wrote them. A call without a permit is denied.
    ///
    /// Must be called within a tokio runtime. Dropping the stream stops what is
    /// still running.
    pub fn run_each<'a>(
        &'a self,
        calls: &'a [ToolCall],
        permits: &'a [CallPermit],
        offered: &'a [ToolSpec],
        context: &'a CallContext,
    ) -> impl Stream<Item = (usize, ToolResult)> + Send + 'a {
        let running = calls.iter().enumerate().map(move |(position, call)| {
            let permit = permits.get(position);
            async move { (position, self.run(call, permit, offered, context).await) }.boxed()
        });
        let writes = calls.iter().any(|call| {
            let found = self.find(call, offered, &context.catalog);
            found.is_some_and(|(_, tool)| tool.class().writes())
        });
        stream::iter(running).buffer_unordered(if writes { 1 } else { AT_ONCE })
    }

    /// The tool that a call is for, if it was offered and can be run.
    fn find<'a>(
        &self,
        call: &ToolCall,
        offered: &'a [ToolSpec],
        catalog: &Catalog,
    ) -> Option<(&'a ToolSpec, Arc<dyn Tool>)> {
        let spec = offered.iter().find(|spec| spec.called == call.name)?;
        Some((spec, self.tool(spec, catalog)?))
    }

    fn tool(&self, spec: &ToolSpec, catalog: &Catalog) -> Option<Arc<dyn Tool>> {
        let built_in = self.built_in.iter().find(|tool| *tool.id() == spec.id).cloned();
        built_in.or_else(|| self.programs.tool(spec, catalog)).or_else(|| self.servers.tool(spec))
    }

    /// Runs one call, and turns whatever goes wrong into its result.
    async fn run(
        &self,
        call: &ToolCall,
        permit: Option<&CallPermit>,
        offered: &[ToolSpec],
        context: &CallContext,
    ) -> ToolResult {
        let answer = AssertUnwindSafe(self.answer(call, permit, offered, context)).catch_unwind();
        let name = clip_name(&call.name);
        let class = self.find(call, offered, &context.catalog).map(|(_, tool)| tool.class());
        let keeps_time = class.is_some_and(ToolClass::keeps_time);
        let limit = if keeps_time { LONGEST } else { self.limits.time_limit };
        let (outcome, text) = match timeout(limit, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(panic)) => {
                let what = panic_text(&*panic);
                (ToolOutcome::Failed, format!("{name} broke off by a fault of its own: {what}"))
            }
            Err(_) => {
                let limit = limit.as_secs_f32();
                (ToolOutcome::Failed, format!("{name} was stopped: it took longer than {limit} s"))
            }
        };
        let text = shorten(text, self.limits.max_output_bytes);
        ToolResult { call: call.id.clone(), name: call.name.clone(), text, outcome }
    }

    async fn answer(
        &self,
        call: &ToolCall,
        permit: Option<&CallPermit>,
        offered: &[ToolSpec],
        context: &CallContext,
    ) -> (ToolOutcome, String) {
        let Some(spec) = offered.iter().find(|spec| spec.called == call.name) else {
            return (ToolOutcome::Refused, not_offered(&call.name, offered));
        };
        let name = &spec.called;
        let Some(tool) = self.tool(spec, &context.catalog) else {
            return (ToolOutcome::Failed, not_there(spec, &context.catalog));
        };
        let consent = match permit {
            Some(CallPermit::Go(consent)) => *consent,
            Some(CallPermit::Denied(why)) => {
                return (ToolOutcome::Denied, format!("{name} was not run: {why}"));
            }
            Some(CallPermit::No(refusal)) => return (refusal.outcome, refusal.text.clone()),
            None => return (ToolOutcome::Denied, format!("{name} was not run: nobody allowed it")),
        };
        let arguments = match self.arguments(call, spec).await {
            Ok(arguments) => arguments,
            Err(advice) => return (ToolOutcome::Refused, format!("{name} was not run: {advice}")),
        };
        let context = CallContext { call: Some(call.id.clone()), ..context.clone() };
        match tool.run(arguments, &context, consent).await {
            Ok(text) => (ToolOutcome::Done, text),
            Err(error) => (ToolOutcome::Failed, format!("{name} failed: {error}")),
        }
    }

    /// The arguments of a call, if they fit. On another thread: a check may take a second, and is
    /// given up when nobody waits for it any more.
    async fn arguments(&self, call: &ToolCall, spec: &ToolSpec) -> Result<CallArguments, String> {
        let schemas = self.schemas.clone();
        let (text, spec) = (call.arguments.clone(), spec.clone());
        let check = move |stop: &Stop| {
            let arguments = CallArguments::parse(&text)?;
            schemas.check(&spec, &arguments, stop)?;
            Ok(arguments)
        };
        blocking(check).await
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.built_in.iter().map(|tool| &*tool.id().name).collect();
        f.debug_struct("Toolbox").field("built_in", &names).finish_non_exhaustive()
    }
}

/// Tells a model that called a tool which it was not offered.
fn not_offered(asked: &str, offered: &[ToolSpec]) -> String {
    let names = || offered.iter().map(|spec| &*spec.called);
    let hint = match nearest_name(asked, names()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if offered.is_empty() => "there are no tools in this turn".to_owned(),
        None => {
            let named: Vec<&str> = names().take(MAX_NAMED).collect();
            let more = if offered.len() > MAX_NAMED { ", …" } else { "" };
            format!("the tools are {}{more}", named.join(", "))
        }
    };
    format!("there is no tool `{}`; {hint}", clip_name(asked))
}

/// Tells why a tool that was offered is not there when it is to be run: while a person thinks, it
/// may have been switched off, or have gone with what brought it.
fn not_there(spec: &ToolSpec, catalog: &Catalog) -> String {
    let name = &spec.called;
    let off = catalog.off_tools.iter().find(|off| off.item == spec.id);
    match off.map(|off| off.why) {
        Some(why @ (OffReason::SkillChanged | OffReason::SkillUntrusted)) => format!(
            "{name} can't be run: it is {}; it runs again when a person has looked at the skill \
             and trusts it",
            why.describe()
        ),
        Some(why) => format!("{name} can't be run: it is {}", why.describe()),
        None => format!("{name} can't be run: what brought it is not there any more"),
    }
}

/// What a panic said, where it said something.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it gave no reason")
}

#[cfg(test)]
mod tests;
