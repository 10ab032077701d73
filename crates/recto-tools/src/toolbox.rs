//! The toolbox: runs the calls of a round side by side, and gives a result for
//! every one of them, whatever happens.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::FutureExt;
use futures_util::stream::{self, Stream, StreamExt};
use recto_context::{ToolCall, ToolSpec, nearest};
use tokio::time::timeout;

use crate::arguments::Arguments;
use crate::blocking::{Stop, blocking};
use crate::files::{self, Files};
use crate::options::{CallLimits, ToolOptions};
use crate::repeated::repeated;
use crate::schema::Schemas;
use crate::shorten::shorten;
use crate::skill::ReadSkill;
use crate::tool::{CallContext, Tool, ToolOutcome, ToolResult};

/// Calls of one round that run at the same time. Further ones wait their turn,
/// so that a model can't open files or threads without end.
const AT_ONCE: usize = 16;

/// Offered tools that are named to a model which asked for another.
const MAX_NAMED: usize = 20;

/// The tools that Recto can run.
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    limits: CallLimits,
    schemas: Arc<Schemas>,
}

impl Toolbox {
    /// A toolbox with these tools.
    pub fn new(tools: Vec<Arc<dyn Tool>>, limits: CallLimits) -> Self {
        Toolbox { tools, limits, schemas: Arc::default() }
    }

    /// The tools that come with Recto: `read_skill` and those for files.
    pub fn built_in(options: ToolOptions) -> Self {
        let limits = options.limits;
        let mut tools: Vec<Arc<dyn Tool>> = vec![Arc::new(ReadSkill::new())];
        tools.extend(files::tools(Files::new(options)));
        Toolbox::new(tools, limits)
    }

    /// What models are told about the tools, for the catalog. Without
    /// `read_skill`, which the assembler offers where it belongs.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().filter_map(|tool| tool.spec()).cloned().collect()
    }

    /// Runs the calls of a round, and gives each result as soon as it is there,
    /// with the position of its call. Calls run side by side; as soon as one of
    /// them writes, they run one after the other, as the model wrote them.
    ///
    /// Must be called within a tokio runtime. Dropping the stream stops what is
    /// still running.
    pub fn run_each<'a>(
        &'a self,
        calls: &'a [ToolCall],
        offered: &'a [ToolSpec],
        context: &'a CallContext,
    ) -> impl Stream<Item = (usize, ToolResult)> + Send + 'a {
        let running = calls.iter().enumerate().map(move |(position, call)| {
            async move { (position, self.run(call, offered, context).await) }.boxed()
        });
        let writes = calls.iter().any(|call| self.tool(call, offered).is_some_and(Tool::writes));
        stream::iter(running).buffer_unordered(if writes { 1 } else { AT_ONCE })
    }

    /// The tool that a call is for, if it was offered and can be run.
    fn tool(&self, call: &ToolCall, offered: &[ToolSpec]) -> Option<&dyn Tool> {
        let spec = offered.iter().find(|spec| spec.id.name == call.name)?;
        self.tools.iter().find(|tool| *tool.id() == spec.id).map(|tool| &**tool)
    }

    /// Runs one call, and turns whatever goes wrong into its result.
    async fn run(
        &self,
        call: &ToolCall,
        offered: &[ToolSpec],
        context: &CallContext,
    ) -> ToolResult {
        let answer = AssertUnwindSafe(self.answer(call, offered, context)).catch_unwind();
        let name = repeated(&call.name);
        let (outcome, text) = match timeout(self.limits.time_limit, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(panic)) => {
                let what = panic_text(&*panic);
                (ToolOutcome::Failed, format!("{name} broke off by a fault of its own: {what}"))
            }
            Err(_) => {
                let limit = self.limits.time_limit.as_secs_f32();
                (ToolOutcome::Failed, format!("{name} was stopped: it took longer than {limit} s"))
            }
        };
        let text = shorten(text, self.limits.max_output_bytes);
        ToolResult { call: call.id.clone(), name: call.name.clone(), text, outcome }
    }

    async fn answer(
        &self,
        call: &ToolCall,
        offered: &[ToolSpec],
        context: &CallContext,
    ) -> (ToolOutcome, String) {
        let Some(spec) = offered.iter().find(|spec| spec.id.name == call.name) else {
            return (ToolOutcome::Refused, not_offered(&call.name, offered));
        };
        let name = &spec.id.name;
        let Some(tool) = self.tools.iter().find(|tool| *tool.id() == spec.id) else {
            let text = format!("{name} can't be run: this version of Recto has no way to run it");
            return (ToolOutcome::Failed, text);
        };
        let arguments = match self.arguments(call, spec).await {
            Ok(arguments) => arguments,
            Err(advice) => return (ToolOutcome::Refused, format!("{name} was not run: {advice}")),
        };
        match tool.run(arguments, context).await {
            Ok(text) => (ToolOutcome::Done, text),
            Err(error) => (ToolOutcome::Failed, format!("{name} failed: {error}")),
        }
    }

    /// The arguments of a call, if they fit. On another thread: a schema can be
    /// made so that checking takes very long, and then the time limit must hold.
    async fn arguments(&self, call: &ToolCall, spec: &ToolSpec) -> Result<Arguments, String> {
        let schemas = self.schemas.clone();
        let (text, spec) = (call.arguments.clone(), spec.clone());
        let check = move |_: &Stop| {
            let arguments = Arguments::parse(&text)?;
            schemas.check(&spec, &arguments)?;
            Ok(arguments)
        };
        blocking(check).await
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.tools.iter().map(|tool| &*tool.id().name).collect();
        f.debug_struct("Toolbox").field("tools", &names).field("limits", &self.limits).finish()
    }
}

/// Tells a model that called a tool which it was not offered.
fn not_offered(asked: &str, offered: &[ToolSpec]) -> String {
    let names = || offered.iter().map(|spec| &*spec.id.name);
    let hint = match nearest(asked, names()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if offered.is_empty() => "there are no tools in this turn".to_owned(),
        None => {
            let named: Vec<&str> = names().take(MAX_NAMED).collect();
            let more = if offered.len() > MAX_NAMED { ", …" } else { "" };
            format!("the tools are {}{more}", named.join(", "))
        }
    };
    format!("there is no tool `{}`; {hint}", repeated(asked))
}

/// What a panic said, where it said something.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it gave no reason")
}

#[cfg(test)]
mod tests;
