//! `recto tools dry-run` and `recto tools run`: a call made by a person, the way a
//! turn would make it.
//!
//! Whoever types the call has seen it, so nobody is asked. Everything else holds:
//! the schema, the guards, the limits, and that a skill is as it was when a person
//! last looked at it.

use std::process::ExitCode;
use std::sync::Arc;

use futures_util::StreamExt;
use recto_agent::{TrustRows, add_tools, bare_item_name, other_agents, runnable_tools};
use recto_context::{CallId, Catalog, Skill, ToolCall, ToolSpec};
use recto_store::Moment;
use recto_tools::{
    ActionFields, ApprovalNeed, CallContext, CallPermit, Consent, ToolAction, ToolCaller,
    ToolOutcome, ToolResult, Toolbox,
};
use serde_json::{Value, json};

use super::skills::{self, DeclaringSkill, SkillTrust};
use crate::cli::CallArgs;
use crate::commands::context::existing_store;
use crate::commands::items::entry::{self, ItemMatch};
use crate::commands::items::{self, ItemView};
use crate::commands::mcp::client::failure_with_words;
use crate::draw::{PageWidth, exact_line, wrap_exactly};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{print, print_json, print_text, tame, tame_lines, tell};
use crate::setup;

/// The exit code that says that a call was not made.
const REFUSED: u8 = 2;

pub(super) fn dry_run(home: &RectoHome, view: ItemView, args: &CallArgs) -> CliResult<ExitCode> {
    setup::runtime()?.block_on(async {
        let trial = ToolTrial::prepare(home, view, args).await?;
        let described = trial.describe().await;
        let printed = match &described {
            Ok(action) => trial.print_action(action, args.json),
            Err(why) if args.json => {
                print_json(&json!({"tool": trial.spec.id.key(), "refused": why}))
            }
            Err(why) => {
                tell(&format_args!("refused: {why}"));
                trial.tell_why_off();
                Ok(())
            }
        };
        trial.tools.servers().shut_down().await;
        printed?;
        Ok(if described.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
    })
}

pub(super) fn run(home: &RectoHome, view: ItemView, args: &CallArgs) -> CliResult<ExitCode> {
    setup::runtime()?.block_on(async {
        let trial = ToolTrial::prepare(home, view, args).await?;
        trial.store_trust().await?;
        let result = trial.run().await;
        trial.tools.servers().shut_down().await;
        let Some(result) = result else {
            return Err(CliFailure::new("the call gave no result"));
        };
        if args.json {
            let (outcome, text) = (result.outcome.name(), &result.text);
            print_json(&json!({"tool": trial.spec.id.key(), "outcome": outcome, "text": text}))?;
        } else {
            let end = if result.text.ends_with('\n') { "" } else { "\n" };
            print_text(&format!("{}{end}", result.text))?;
            trial.tell_why_off();
        }
        Ok(match result.outcome {
            ToolOutcome::Done => ExitCode::SUCCESS,
            ToolOutcome::Failed => ExitCode::FAILURE,
            ToolOutcome::Refused | ToolOutcome::Denied => ExitCode::from(REFUSED),
        })
    })
}

/// A call made by hand, and all that it needs.
struct ToolTrial {
    view: ItemView,
    tools: Toolbox,
    spec: ToolSpec,
    call: ToolCall,
    context: CallContext,
    /// The skill that brings the tool.
    skill: Option<DeclaringSkill>,
}

impl ToolTrial {
    async fn prepare(home: &RectoHome, mut view: ItemView, args: &CallArgs) -> CliResult<Self> {
        let arguments = input::message(&args.args)?;
        let mut tools = setup::toolbox(home, &view.settings);
        let store = existing_store(&view.settings);
        let searcher = setup::searcher(&view.settings, store.clone());
        let memories = setup::memories(&view.settings, &searcher, store);
        runnable_tools(&memories).for_each(|tool| tools.add(tool));
        if matches!(entry::find(&view.entries(), &args.name), ItemMatch::None) {
            // It may be a tool of a server that was never asked for its tools.
            tools.servers().learn_tools().await;
            view.catalog = view.snapshot.catalog.clone();
            let built_in = setup::built_in(&tools, &view.settings);
            let own = &view.settings.agent.name;
            let others = other_agents(&view.snapshot.sub_agents, own);
            add_tools(&mut view.catalog, &built_in, &others, &tools.servers().tools());
        }
        let id = match items::find(&view, &view.entries(), &args.name) {
            Ok(entry) => entry.id.clone(),
            Err(none) => return Err(failed_server(&tools, &args.name).unwrap_or(none)),
        };
        let spec = view.catalog.all_tools().find(|spec| spec.id == id).cloned();
        let Some(spec) = spec else {
            return Err(CliFailure::no_such("tool", &args.name));
        };
        let declaring = skills::declaring(&view.settings, &view.catalog).await?;
        let context = CallContext {
            catalog: Arc::new(view.catalog.clone()),
            trusted: Arc::new(skills::trusted(&declaring)),
            caller: ToolCaller { audience: setup::owner(&view.settings), ..ToolCaller::default() },
            ..CallContext::default()
        };
        let call = ToolCall {
            id: CallId("1".into()),
            name: spec.called.clone(),
            arguments: arguments.into(),
        };
        let skill = skill_of(&spec, &view.catalog, declaring);
        Ok(ToolTrial { view, tools, spec, call, context, skill })
    }

    /// Tells what to do about a skill whose tools are off.
    fn tell_why_off(&self) {
        if let Some(why) = self.skill.as_ref().and_then(DeclaringSkill::why_off) {
            tell(&why);
        }
    }

    async fn describe(&self) -> Result<ToolAction, String> {
        let offered = std::slice::from_ref(&self.spec);
        self.tools.describe(&self.call, offered, &self.context).await
    }

    fn asks(&self, action: &ToolAction) -> bool {
        action.needs == ApprovalNeed::Person
            || self.tools.asks(&self.spec, &self.context, self.tools.approval())
    }

    fn print_action(&self, action: &ToolAction, as_json: bool) -> CliResult {
        let asks = self.asks(action);
        if as_json {
            return print_json(&self.json(action, asks));
        }
        let asks = if asks { "a turn would ask first" } else { "a turn would run it unasked" };
        tell(&format_args!("{}: {asks}", self.spec.id.key()));
        let width = PageWidth::of_stdout();
        let title = exact_line(&action.title, width);
        let detail = wrap_exactly(&tame_lines(action.detail.trim_end()), 0, width);
        print(&format!("{title}\n{detail}"))
    }

    fn json(&self, action: &ToolAction, asks: bool) -> Value {
        json!({
            "tool": self.spec.id.key(),
            "called": &*self.spec.called,
            "title": action.title,
            "detail": action.detail,
            "asks": asks,
            "needs_person": action.needs == ApprovalNeed::Person,
            "action": action.fields,
        })
    }

    /// Remembers the skill. Whoever calls one by hand to which the config gives rights is told
    /// what those are, and has looked at it then.
    async fn store_trust(&self) -> CliResult {
        let Some(DeclaringSkill { trust: SkillTrust::Known(identity, _), unstored, .. }) =
            &self.skill
        else {
            return Ok(());
        };
        let unseen = match self.describe().await.map(|action| action.fields) {
            Ok(ActionFields::Program(fields)) => fields.unseen_skill,
            _ => None,
        };
        let stored = match unseen {
            Some(skill) => {
                let (name, rights) = (tame(&skill.name), tame(&skill.rights.join(", ")));
                tell(&format_args!("first call of skill {name}; the config gives it: {rights}"));
                Some(identity.looked_at_rows())
            }
            None => unstored.clone(),
        };
        let Some(TrustRows { rows, update }) = stored else { return Ok(()) };
        let store = setup::store(&self.view.settings)?;
        let agent = &self.view.settings.agent.name;
        Ok(store.trust(agent, rows, update, Moment::now()).await?)
    }

    /// Makes the call. What it would do is looked at first: the person's word is
    /// for that and nothing else. Where that can't be told, running says why.
    async fn run(&self) -> Option<ToolResult> {
        let consent = match self.describe().await {
            Ok(action) => Consent::To(action.hash),
            Err(_) => Consent::Unasked,
        };
        let permits = [CallPermit::Go(consent)];
        let calls = std::slice::from_ref(&self.call);
        let offered = std::slice::from_ref(&self.spec);
        let mut results = Box::pin(self.tools.run_each(calls, &permits, offered, &self.context));
        results.next().await.map(|(_, result)| result)
    }
}

/// Why the server of a tool did not say whether it has that.
fn failed_server(tools: &Toolbox, name: &str) -> Option<CliFailure> {
    let (server, _) = bare_item_name(name).split_once('.')?;
    let known = tools.servers().status().into_iter().find(|known| *known.name == *server)?;
    let unknown = known.tools.is_none();
    let error = known.trouble.or(known.last_failure.map(|failure| failure.error));
    error.filter(|_| unknown).map(|error| failure_with_words(&error))
}

/// The skill that brings a tool.
fn skill_of(
    spec: &ToolSpec,
    catalog: &Catalog,
    declaring: Vec<DeclaringSkill>,
) -> Option<DeclaringSkill> {
    let brings = |skill: &Skill| skill.tools.iter().any(|tool| tool.id == spec.id);
    let name = &catalog.skills.iter().find(|skill| brings(skill))?.name;
    declaring.into_iter().find(|skill| skill.name == *name)
}
