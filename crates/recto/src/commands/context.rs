//! `recto context`: what a model would be sent, without calling one.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Zoned;
use recto_agent::{
    Agent, AgentError, AgentMemories, Inbound, InboundReading, ItemQuery, MemoryCriteria,
    MentionedItems, ModelEntry, RankingBasis, RequestPreview, SearchOutcome, SearchPatience,
    Searcher, SessionSettings, WordsOnlyReason, assemble_for, join_mentioned, model_window,
    preview_json, said_before, search_message, without_mentions,
};
use recto_context::mode::{self, ModeMark, ModeQuestion, ModeSetting};
use recto_context::{
    AssemblyInputs, Bootstrap, Carry, Catalog, ContentPart, ContextMode, MemorySnapshot, Message,
    MessageId, MessageStamp, RequestContext, SessionItem, SummaryBy, TokenCounter, Tokens, Window,
    WindowSource, has_tools, read_jsonl,
};
use recto_search::{SearchEntry, SearchMessage};
use recto_store::{NewCompaction, SessionId, Store};
use recto_workspace::MemoryView;

use crate::attach::{FileMentions, MessageAttachments};
use crate::cli::{ContextArgs, SamplingArgs};
use crate::commands::{history_failure, sessions};
use crate::config::{ConfigFlag, LoadedConfig, Settings};
use crate::draw::{self, PageWidth};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{print, print_data, print_json, tame, tell};
use crate::remedy_words::with_command;
use crate::setup::{self, ModelChoice};

pub(crate) fn run(home: &RectoHome, args: &ContextArgs) -> CliResult<ExitCode> {
    let content = content(args)?;
    let history = args.history.as_deref().map(read_history).transpose()?.unwrap_or_default();
    let flag = |name: &String| ConfigFlag { name: "--model", key: "model", value: name.clone() };
    let config = setup::load_config(home, args.model.iter().map(flag).collect())?;
    if let Some(name) = &args.session {
        return show_in_session(home, &config, args, name, content);
    }
    let mut settings = setup::asked_settings(&config, &args.agent)?.clone();
    let runtime = setup::runtime()?;
    let asked_for = settings.model.clone();
    let choice = runtime.block_on(setup::find(&mut settings, None));
    if choice.entry.is_none() && asked_for.is_some() {
        return Err(choice.failure(asked_for.as_deref(), &settings));
    }
    let snapshot = setup::read_workspace(&settings)?;
    setup::tell_problems(&snapshot.problems);
    let remembered = runtime.block_on(setup::remembered(&settings));
    setup::tell_problems(&remembered.problems);
    let mut catalog = setup::whole_catalog(home, &settings, &snapshot);
    catalog.memories.clone_from(&remembered.memories);
    let store = existing_store(&settings);
    let searcher = setup::searcher(&settings, store.clone());
    let source = ContextSource {
        catalog: &catalog,
        searcher: &searcher,
        memories: &setup::memories(&settings, &searcher, store.clone()),
        store: store.as_ref(),
        remembered: &remembered,
        settings: &settings,
        choice: &choice,
        sampling: &args.sampling,
    };
    let mark = args.context_mode.map(ContextMode::from);
    let (model, request) = runtime.block_on(assemble(&source, &content, &history, mark))?;
    show(args, &model, &request)?;
    Ok(ExitCode::SUCCESS)
}

/// The store, for the vectors that it has kept. Looking makes none.
pub(crate) fn existing_store(settings: &Settings) -> Option<Store> {
    setup::has_store(settings).then(|| setup::store(settings).ok()).flatten()
}

/// What a page outside of all sessions is made from.
pub(crate) struct ContextSource<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) searcher: &'a Searcher,
    pub(crate) memories: &'a AgentMemories,
    /// What was stored, if anything was.
    pub(crate) store: Option<&'a Store>,
    /// What the owner sees of them.
    pub(crate) remembered: &'a Arc<MemoryView>,
    /// With the model that was chosen.
    pub(crate) settings: &'a Settings,
    pub(crate) choice: &'a ModelChoice,
    pub(crate) sampling: &'a SamplingArgs,
}

/// Assembles what a model would be sent for a message that begins a session, or
/// follows upon a history. Nothing is stored or called, except that a server may be asked
/// for its window.
pub(crate) async fn assemble(
    source: &ContextSource<'_>,
    content: &[ContentPart],
    history: &[Arc<Message>],
    mark: Option<ContextMode>,
) -> CliResult<(ModelEntry, RequestContext)> {
    let ContextSource { catalog, settings, choice, sampling, .. } = *source;
    let message: &str = content.iter().find_map(ContentPart::as_text).map_or("", |text| text);
    let mut model = setup::chosen_model(settings)?;
    sampling.apply(&mut model);
    model.check_images(content).await?;
    let system = sampling.client().map(|client| client.system_texts()).unwrap_or_default();
    let window = model_window(&model, Tokens::new(settings.window_cap)).await;
    let window = window.unwrap_or(Window::ASSUMED);
    warn_of_assumed_window(settings, choice, window);
    let mut session = catalog.session_at_start();
    let MentionedItems { problems, .. } = join_mentioned(message, catalog, &mut session);
    for problem in &problems {
        tell(&format_args!("warning: {}", tame(problem)));
    }
    let said = without_mentions(message);
    let question = question(&said, history);
    let (found, snapshot) = search(source, &model, &session, &question, mark).await;
    warn_of_words_alone(&found);
    let mode = mode::decide(&ModeQuestion {
        setting: model.mode,
        uncertain: model.uncertain,
        mark: mark.map(ModeMark::Turn),
        has_tools: has_tools(catalog, &session, &[], &found.picks, &model.layout),
        found: found.for_tools.as_ref(),
        message: &said,
    });
    let now = Zoned::now();
    let inputs = AssemblyInputs::new(catalog, "")
        .content(content.to_vec())
        .message_id(next_id(history))
        .stamp(MessageStamp::from_minute(&now.strftime("%Y-%m-%d %H:%M").to_string()))
        .model(model.name.clone())
        .bootstrap(bootstrap(settings, &now))
        .client_system(&system)
        .session(&session)
        .picks(&found.picks)
        .candidates(&found.candidates)
        .listed(&found.listed)
        .alike(&found.alike)
        .history(history)
        .mode(mode)
        .window(window)
        .carry(Carry { snapshot: Some(snapshot), ..Carry::default() })
        .limits(model.limits)
        .layout(model.layout)
        .call_demand(model.call_demand());
    let request = assemble_for(&model, &inputs)
        .await
        .map_err(|over| CliFailure::new(over.to_string()).hint(over.hint()))?;
    Ok((model, request))
}

/// Warns where meaning did not count, though the message names something to look for.
fn warn_of_words_alone(found: &SearchOutcome) {
    if let Some(how @ RankingBasis::Words(why)) = &found.how
        && *why != WordsOnlyReason::NothingNamed
    {
        let how = with_command(how.to_string(), how.remedy().as_ref());
        tell(&format_args!("warning: items were searched {how}"));
    }
}

/// What is searched for: the message, with what was said before it.
fn question(said: &str, history: &[Arc<Message>]) -> SearchMessage {
    // Nobody else talks outside of all sessions.
    let before = said_before(said, history.iter().map(|message| &**message), None);
    search_message(said, before.as_ref())
}

/// Searches for a message outside of all sessions, and chooses the memories for its
/// page.
async fn search(
    source: &ContextSource<'_>,
    model: &ModelEntry,
    session: &[SessionItem],
    message: &SearchMessage,
    mark: Option<ContextMode>,
) -> (SearchOutcome, MemorySnapshot) {
    let ContextSource { catalog, searcher, memories, remembered, store, settings, .. } = *source;
    let options = *searcher.options();
    let uses = &setup::earlier_uses(settings, searcher, store.cloned(), message).await;
    let query = ItemQuery {
        catalog,
        entries: SearchEntry::from_catalog(catalog).into(),
        session,
        removed: &[],
        decides_mode: match mark {
            Some(mark) => mark == ContextMode::Auto,
            None => model.mode == ModeSetting::Auto,
        },
        options,
        message,
        uses,
    };
    let criteria = MemoryCriteria {
        limits: &model.limits,
        options: &options,
        counter: &TokenCounter::estimated(),
        history_from: MessageId::default(),
        uses,
        patience: SearchPatience::OneSecond,
    };
    let (mut found, chosen) =
        tokio::join!(searcher.find(&query), memories.choose(remembered, message, None, &criteria));
    let snapshot = found.complete(chosen, &options.list.with_lines(model.limits.list_lines));
    (found, snapshot)
}

/// Shows what a model would be sent for the next message of a session.
fn show_in_session(
    home: &RectoHome,
    config: &LoadedConfig,
    args: &ContextArgs,
    name: &str,
    content: Vec<ContentPart>,
) -> CliResult<ExitCode> {
    setup::runtime()?.block_on(async {
        let store = setup::readable_store(setup::asked_settings(config, &args.agent)?)?;
        let agent = setup::meant_agent(config, &args.agent, name);
        let session = sessions::find(&store, &agent, &args.agent, name).await?;
        let mut settings = setup::session_settings(config, &session)?.clone();
        setup::enter_folder(home, &mut settings, &session)?;
        let settings = setup::with_model(settings, None).await?;
        let agent = setup::idle_agent(home, &settings, store)?;
        let settings = SessionSettings {
            model: args.model.clone(),
            context_mode: args.context_mode.map(ContextMode::from),
            ..args.sampling.settings()
        };
        let client = args.sampling.client();
        let inbound = Inbound { content, settings, client, ..Inbound::text(&setup::actor(), "") };
        let (model, preview) = preview(&agent, session.id, inbound).await?;
        if args.json {
            print_json(&preview_json(&preview))?;
        } else {
            show(args, &model, &preview.request)?;
        }
        tell_of_compaction(&preview);
        Ok(ExitCode::SUCCESS)
    })
}

/// What a model, the session's unless another is named, would be sent for the
/// session's next message.
pub(crate) async fn preview(
    agent: &Agent,
    session: SessionId,
    inbound: Inbound,
) -> CliResult<(ModelEntry, RequestPreview)> {
    let preview = agent.preview(session, inbound).await?;
    let model = agent.model(&preview.request.model)?;
    Ok((model.clone(), preview))
}

/// Says what would be summarised: the page shows it as if that had been done.
fn tell_of_compaction(preview: &RequestPreview) {
    let Some(compaction) = &preview.compaction else { return };
    let NewCompaction { summary, tokens_before, tokens_after, .. } = compaction;
    tell(&format_args!(
        "note: messages leave the page with this one; a summary would stand for messages {} to \
         {}, with {tokens_after} tokens instead of {tokens_before}",
        summary.first.0, summary.last.0,
    ));
    if preview.summary_by == Some(SummaryBy::Summary) {
        tell(&"note: the model would be asked for it; what is shown in its place is an extract");
    }
}

fn show(args: &ContextArgs, model: &ModelEntry, request: &RequestContext) -> CliResult {
    if args.json {
        print_json(&request.report())
    } else if args.raw {
        // Compact, as it would be sent.
        print_data(&format!("{}\n", recto_llm::encode(model.client.wire(), &model.call, request)))
    } else {
        print(&draw::request(request, PageWidth::of_stdout()))
    }
}

/// The message that was typed, with what comes along; or standard input to its end, byte for
/// byte.
fn content(args: &ContextArgs) -> CliResult<Vec<ContentPart>> {
    let typed = match args.message.as_deref() {
        Some(message) => message,
        None if input::is_typed() => {
            return Err(CliFailure::new("there is no message")
                .hint("type one behind the command: recto context \"hello\""));
        }
        None => "-",
    };
    let (text, attached) =
        MessageAttachments::read_message(typed, &args.attach.files, FileMentions::Follow)?;
    let content = attached.content(&read_message(&text)?)?;
    let is_blank = |part: &ContentPart| part.as_text().is_some_and(|text| text.trim().is_empty());
    match content.iter().all(is_blank) {
        true => Err(AgentError::EmptyMessage.into()),
        false => Ok(content),
    }
}

/// The text that a chat would send for this: it takes commands for itself.
fn read_message(text: &str) -> CliResult<String> {
    match Inbound::text(&setup::actor(), text).read_command() {
        Ok(InboundReading::Message(inbound)) => Ok(inbound.visible_text()),
        Ok(InboundReading::Command(_)) => {
            let word = text.split_whitespace().next().unwrap_or_default();
            Err(CliFailure::new(format!("`{}` is a command, which no model is sent", tame(word)))
                .hint("a message that begins with a slash is typed with two"))
        }
        Err(problem) => Err(CliFailure::new(problem.to_string()).hint(problem.hint())),
    }
}

fn read_history(path: &Path) -> CliResult<Vec<Arc<Message>>> {
    let failure = || CliFailure::new(format!("cannot read the history `{}`", path.display()));
    let file = std::fs::File::open(path).map_err(|error| {
        failure().because(&error).hint("name a file with one JSON message a line")
    })?;
    let text = input::read_text(file).map_err(|error| failure().because(&error))?;
    read_jsonl(&text).map_err(|problems| history_failure(failure(), &problems))
}

fn next_id(history: &[Arc<Message>]) -> MessageId {
    MessageId(history.last().map_or(0, |message| message.id.0).saturating_add(1))
}

fn bootstrap(settings: &Settings, now: &Zoned) -> Bootstrap {
    Bootstrap {
        agent: settings.agent.name.as_str().into(),
        version: env!("CARGO_PKG_VERSION").into(),
        workspace: settings.work_folder().to_string_lossy().into(),
        system: std::env::consts::OS.into(),
        day: now.strftime("%Y-%m-%d").to_string().into(),
        surface: "terminal".into(),
    }
}

fn warn_of_assumed_window(settings: &Settings, choice: &ModelChoice, window: Window) {
    if window.source != WindowSource::Assumed {
        return;
    }
    let tokens = window.tokens;
    match settings.chosen_model() {
        Some(entry) => tell(&format_args!(
            "warning: the window of model `{}` is unknown; {tokens} tokens are assumed\n  \
             hint: set `window` in [models.{}]",
            tame(&entry.name),
            tame(&entry.name)
        )),
        None => tell(&format_args!(
            "warning: no model is configured, and none was found; a window of {tokens} tokens is \
             assumed\n  hint: {}",
            choice.advice()
        )),
    }
}
