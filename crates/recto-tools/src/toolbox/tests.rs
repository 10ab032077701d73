//! Rounds of calls, with tools that behave and tools that don't.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{self, BoxFuture};
use recto_context::{CallId, ItemId, ItemKind, OffTool};
use serde_json::json;
use tokio::sync::Barrier;

use super::*;
use crate::policy::ToolPermission;
use crate::tool::{ToolError, ToolOutput};

/// A tool made from a function of its only argument.
struct Made<F> {
    spec: ToolSpec,
    writes: bool,
    run: F,
}

impl<F> Tool for Made<F>
where
    F: Fn(String) -> BoxFuture<'static, ToolOutput> + Send + Sync,
{
    fn id(&self) -> &ItemId {
        &self.spec.id
    }

    fn spec(&self) -> Option<&ToolSpec> {
        Some(&self.spec)
    }

    fn class(&self) -> ToolClass {
        if self.writes { ToolClass::Writes } else { ToolClass::Reads }
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        future::ready(Ok(ToolAction::from_arguments("do it", arguments))).boxed()
    }

    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        _: &'a CallContext,
        _: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        (self.run)(arguments.text("text").unwrap_or_default().to_owned())
    }
}

fn spec(id: ItemId) -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    ToolSpec::new(id, "A tool.", parameters)
}

fn made(
    name: &str,
    run: impl Fn(String) -> BoxFuture<'static, ToolOutput> + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    Arc::new(Made { spec: spec(ItemId::new(ItemKind::Tool, name)), writes: false, run })
}

/// The same, for a tool that changes something.
fn writing(
    name: &str,
    run: impl Fn(String) -> BoxFuture<'static, ToolOutput> + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    Arc::new(Made { spec: spec(ItemId::new(ItemKind::Tool, name)), writes: true, run })
}

fn echo() -> Arc<dyn Tool> {
    made("echo", |text| future::ready(Ok(text)).boxed())
}

fn calls(calls: &[(&str, &str)]) -> Vec<ToolCall> {
    let call = |(number, (name, arguments)): (usize, &(&str, &str))| ToolCall {
        id: CallId(format!("call-{number}").into()),
        name: (*name).into(),
        arguments: (*arguments).into(),
    };
    calls.iter().enumerate().map(call).collect()
}

/// A round against these tools, all of them offered: `id outcome text`.
async fn round(tools: Vec<Arc<dyn Tool>>, limits: CallLimits, asked: &[(&str, &str)]) -> String {
    let toolbox = Toolbox::with_tools(tools, limits);
    let offered = toolbox.specs();
    let context = CallContext::default();
    show(&run_all(&toolbox, &calls(asked), &offered, &context).await)
}

fn show(results: &[ToolResult]) -> String {
    let show = |result: &ToolResult| {
        format!("{} {} {:?}: {}", result.call.0, result.name, result.outcome, result.text)
    };
    results.iter().map(show).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn results_stand_in_the_order_of_the_calls() {
    // The first call ends only after the last one has.
    let (told, has_told) = tokio::sync::oneshot::channel::<()>();
    let (told, has_told) = (Mutex::new(Some(told)), Mutex::new(Some(has_told)));
    let slow = made("slow", move |text| {
        let has_told = has_told.lock().unwrap().take().unwrap();
        async move {
            has_told.await.unwrap();
            Ok(text)
        }
        .boxed()
    });
    let last = made("last", move |text| {
        let _ = told.lock().unwrap().take().unwrap().send(());
        future::ready(Ok(text)).boxed()
    });
    let asked = [
        ("slow", r#"{"text": "one"}"#),
        ("echo", r#"{"text": "two"}"#),
        ("last", r#"{"text": "three"}"#),
    ];
    assert_eq!(
        round(vec![slow, echo(), last], CallLimits::default(), &asked).await,
        "call-0 slow Done: one\ncall-1 echo Done: two\ncall-2 last Done: three"
    );
}

#[tokio::test]
async fn calls_run_side_by_side() {
    // Nobody passes before all three are there.
    let barrier = Arc::new(Barrier::new(3));
    let meet = made("meet", move |text| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok(text)
        }
        .boxed()
    });
    let asked = ["1", "2", "3"].map(|text| format!(r#"{{"text": "{text}"}}"#));
    let asked = asked.each_ref().map(|arguments| ("meet", arguments.as_str()));
    assert_eq!(
        round(vec![meet], CallLimits::default(), &asked).await,
        "call-0 meet Done: 1\ncall-1 meet Done: 2\ncall-2 meet Done: 3"
    );
}

#[tokio::test]
async fn calls_run_one_after_the_other_where_one_of_them_writes() {
    let running = Arc::new(AtomicUsize::new(0));
    let step = move |text: String| {
        let running = running.clone();
        async move {
            let others = running.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(format!("{text}{others}"))
        }
        .boxed()
    };
    let asked = [("read", r#"{"text": "a"}"#), ("write", r#"{"text": "b"}"#), ("read", "{}")];
    let tools = vec![made("read", step.clone()), writing("write", step)];
    let shown = round(tools, CallLimits::default(), &asked).await;
    assert_eq!(shown, "call-0 read Done: a0\ncall-1 write Done: b0\ncall-2 read Done: 0");
}

#[tokio::test]
async fn many_calls_all_get_results() {
    let asked = vec![("echo", "{}"); 10 * AT_ONCE];
    let shown = round(vec![echo()], CallLimits::default(), &asked).await;
    let ids: Vec<&str> = shown.lines().filter_map(|line| line.split(' ').next()).collect();
    let expected: Vec<String> = (0..10 * AT_ONCE).map(|number| format!("call-{number}")).collect();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn each_result_comes_as_soon_as_it_is_there() {
    let never = made("never", |_| future::pending().boxed());
    let toolbox = Toolbox::with_tools(vec![never, echo()], CallLimits::default());
    let (asked, offered) = (calls(&[("never", ""), ("echo", "")]), toolbox.specs());
    let context = CallContext::default();
    let permits = vec![CallPermit::Go(Consent::Unasked); asked.len()];
    let mut results = Box::pin(toolbox.run_each(&asked, &permits, &offered, &context));
    let (position, result) = results.next().await.unwrap();
    assert_eq!((position, &*result.name), (1, "echo"));
}

#[tokio::test]
async fn a_tool_that_panics_has_failed_and_spoils_nothing() {
    let at_once = made("at_once", |_| panic!("no such luck"));
    let later = made("later", |text| async move { panic!("not {text}") }.boxed());
    let elsewhere = made("elsewhere", |_| blocking(|_| panic!("on a thread")).boxed());
    let asked =
        [("at_once", ""), ("later", r#"{"text": "me"}"#), ("elsewhere", ""), ("echo", "{}")];
    assert_eq!(
        round(vec![at_once, later, elsewhere, echo()], CallLimits::default(), &asked).await,
        "call-0 at_once Failed: at_once broke off by a fault of its own: no such luck\n\
         call-1 later Failed: later broke off by a fault of its own: not me\n\
         call-2 elsewhere Failed: elsewhere broke off by a fault of its own: on a thread\n\
         call-3 echo Done: "
    );
}

/// Promise: `hung-tool-ends`
#[tokio::test]
async fn a_tool_that_hangs_is_stopped() {
    let never = made("never", |_| future::pending().boxed());
    let limits = CallLimits { time_limit: Duration::from_millis(20), ..CallLimits::default() };
    assert_eq!(
        round(vec![never], limits, &[("never", "")]).await,
        "call-0 never Failed: never was stopped: it took longer than 0.02 s"
    );
}

/// Promise: `output-keeps-both-ends`
#[tokio::test]
async fn outputs_and_errors_keep_to_the_limit() {
    let fails = made("fails", |text| future::ready(Err(ToolError::new(text))).boxed());
    let limits = CallLimits { max_output_bytes: 100, ..CallLimits::default() };
    let long = json!({"text": "x".repeat(1_000)}).to_string();
    let shown = round(vec![echo(), fails], limits, &[("echo", &long), ("fails", &long)]).await;
    let half = "x".repeat(18);
    let head = "x".repeat(4);
    assert_eq!(
        shown,
        format!(
            "call-0 echo Done: {half}\n[… 964 bytes left out …]\n{half}\n\
             call-1 fails Failed: fails failed: {head}\n[… 978 bytes left out …]\n{half}"
        )
    );
}

#[tokio::test]
async fn calls_of_tools_that_are_not_there() {
    let asked = [("ehco", "{}"), ("weather", "{}"), ("", "{}")];
    assert_eq!(
        round(vec![echo()], CallLimits::default(), &asked).await,
        "call-0 ehco Refused: there is no tool `ehco`; did you mean `echo`?\n\
         call-1 weather Refused: there is no tool `weather`; the tools are echo\n\
         call-2  Refused: there is no tool ``; the tools are echo"
    );
    assert_eq!(
        round(vec![], CallLimits::default(), &asked[..1]).await,
        "call-0 ehco Refused: there is no tool `ehco`; there are no tools in this turn"
    );
}

#[tokio::test]
async fn a_tool_that_is_there_but_was_not_offered_stays_untouched() {
    let toolbox = Toolbox::with_tools(vec![echo()], CallLimits::default());
    let results = run_all(&toolbox, &calls(&[("echo", "")]), &[], &CallContext::default()).await;
    assert_eq!(
        show(&results),
        "call-0 echo Refused: there is no tool `echo`; there are no tools in this turn"
    );
}

#[tokio::test]
async fn a_declared_tool_does_not_run_a_built_in_one_of_its_name() {
    let toolbox = Toolbox::with_tools(vec![echo()], CallLimits::default());
    let declared = spec(ItemId::tool(Some("shouting".into()), "echo"));
    let context = CallContext::default();
    let results = run_all(&toolbox, &calls(&[("echo", "")]), &[declared], &context).await;
    assert_eq!(
        show(&results),
        "call-0 echo Failed: echo can't be run: what brought it is not there any more"
    );
}

#[tokio::test]
async fn a_tool_that_was_switched_off_meanwhile_says_why_it_is_not_run() {
    let toolbox = Toolbox::with_tools(vec![], CallLimits::default());
    let offered = spec(ItemId::tool(Some("shouting".into()), "echo"));
    let run = async |why: OffReason| {
        let off_tools = vec![OffTool { item: offered.id.clone(), why }];
        let catalog = Arc::new(Catalog { off_tools, ..Catalog::default() });
        let context = CallContext { catalog, ..CallContext::default() };
        let calls = calls(&[("echo", "")]);
        show(&run_all(&toolbox, &calls, std::slice::from_ref(&offered), &context).await)
    };
    assert_eq!(
        run(OffReason::SkillChanged).await,
        "call-0 echo Failed: echo can't be run: it is off: its skill's tools.json or a script \
         changed, and nobody has looked at it since; it runs again when a person has looked at \
         the skill and trusts it"
    );
    assert_eq!(
        run(OffReason::Disabled).await,
        "call-0 echo Failed: echo can't be run: it is off: the config says so"
    );
}

fn verdict(verdict: &ToolCallVerdict) -> String {
    match verdict {
        ToolCallVerdict::Go(consent) => format!("{consent:?}"),
        ToolCallVerdict::Ask(question) => format!("ask: {}", question.action.detail),
        ToolCallVerdict::No(refusal) => format!("{:?}", refusal.outcome),
    }
}

#[tokio::test]
async fn what_writes_is_asked_about_unless_something_else_is_set() {
    let tool = |name| writing(name, |text| future::ready(Ok(text)).boxed());
    let mut toolbox =
        Toolbox::with_tools(vec![echo(), tool("put"), tool("keep")], CallLimits::default());
    toolbox.policy.tools.insert("keep".into(), ToolPermission::Allow);
    let offered = toolbox.specs();
    let asked = calls(&[("echo", "{}"), ("put", "{}"), ("keep", "{}"), ("put", "[]"), ("x", "")]);
    let context = CallContext::default();
    for (approval, tools, expected) in [
        (ApprovalMode::PerTool, &[][..], "Unasked, ask: {}, Unasked, Refused, Unasked"),
        (ApprovalMode::PerTool, &["put"], "Unasked, ToTool, Unasked, Refused, Unasked"),
        (ApprovalMode::Always, &[], "ask: {}, ask: {}, ask: {}, Refused, Unasked"),
        (ApprovalMode::Never, &[], "Unasked, Unasked, Unasked, Unasked, Unasked"),
    ] {
        let identity = |name: &&str| {
            let tool = toolbox.built_in.iter().find(|tool| *tool.id().name == **name).unwrap();
            (tool.id().clone(), tool.identity(&context))
        };
        let tools = tools.iter().map(identity).collect();
        let leave = SessionLeave { approval, tools };
        let verdicts = toolbox.judge(&asked, &offered, &context, &leave).await;
        let shown: Vec<String> = verdicts.iter().map(verdict).collect();
        assert_eq!(shown.join(", "), expected, "{approval:?}");
    }
}

#[tokio::test]
async fn only_what_was_allowed_is_run() {
    let toolbox = Toolbox::with_tools(vec![echo()], CallLimits::default());
    let (asked, offered) = (calls(&[("echo", r#"{"text": "a"}"#)]), toolbox.specs());
    let context = CallContext::default();
    let action = toolbox.describe(&asked[0], &offered, &context).await.unwrap();
    for (permits, expected) in [
        (vec![CallPermit::Go(Consent::To(action.hash))], "Done: a"),
        (vec![CallPermit::Denied("no".into())], "Denied: echo was not run: no"),
        (vec![], "Denied: echo was not run: nobody allowed it"),
    ] {
        let results: Vec<_> =
            toolbox.run_each(&asked, &permits, &offered, &context).collect().await;
        let result = &results[0].1;
        assert_eq!(format!("{:?}: {}", result.outcome, result.text), expected);
    }
}

#[tokio::test]
async fn arguments_are_checked_first() {
    let asked = [("echo", "{\"text\""), ("echo", "[]"), ("echo", r#"{"text": 1}"#)];
    assert_eq!(
        round(vec![echo()], CallLimits::default(), &asked).await,
        "call-0 echo Refused: echo was not run: the arguments are not valid JSON: EOF while \
         parsing an object at line 1 column 7\n\
         call-1 echo Refused: echo was not run: the arguments must be a JSON object, not an \
         array\n\
         call-2 echo Refused: echo was not run: the arguments don't fit.\n\
         - `text` must be of type string, not a number\n\
         Parameters: text (string)"
    );
}

#[test]
fn a_toolbox_can_be_shared() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&Toolbox::new(ToolOptions::new("workspace")));
}

/// The results of a round, in the order of its calls.
async fn run_all(
    toolbox: &Toolbox,
    calls: &[ToolCall],
    offered: &[ToolSpec],
    context: &CallContext,
) -> Vec<ToolResult> {
    let permits = vec![CallPermit::Go(Consent::Unasked); calls.len()];
    let mut results: Vec<_> = toolbox.run_each(calls, &permits, offered, context).collect().await;
    results.sort_by_key(|(position, _)| *position);
    results.into_iter().map(|(_, result)| result).collect()
}
