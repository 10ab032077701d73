//! `recto context`: what a model would be sent, without calling one.

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Zoned;
use recto_context::mode::{self, Question};
use recto_context::{
    Bootstrap, ContextMode, Inputs, Message, MessageId, RequestContext, Stamp, WindowSource,
    has_tools, read_jsonl,
};

use crate::cli::ContextArgs;
use crate::config::{Flag, Settings};
use crate::draw;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::{print, print_data, print_json, tame, tell};
use crate::setup::{self, Model};

pub(crate) fn run(home: &Home, args: &ContextArgs) -> Result<ExitCode, Failure> {
    let message = message(args)?;
    let history = args.history.as_deref().map(read_history).transpose()?.unwrap_or_default();
    let flag = |name: &String| Flag { name: "--model", key: "model", value: name.clone() };
    let settings = setup::load(home, args.model.iter().map(flag).collect())?;
    let snapshot = setup::read_workspace(&settings)?;
    setup::tell_problems(&snapshot);
    let model = Model::chosen(&settings);
    warn_of_assumed_window(&settings, &model);

    let catalog = &snapshot.catalog;
    let session = catalog.session_at_start();
    let mode = mode::decide(&Question {
        setting: model.mode,
        uncertain: model.uncertain,
        mark: args.context_mode.map(ContextMode::from),
        has_tools: has_tools(catalog, &session, &[], &model.layout),
        found: None,
        message: &message,
    });
    let now = Zoned::now();
    let request = Inputs::new(catalog, message.as_str())
        .message_id(next_id(&history))
        .stamp(Stamp::new(&now.strftime("%Y-%m-%d %H:%M").to_string()))
        .model(model.name.clone())
        .bootstrap(bootstrap(&settings, &now))
        .session(&session)
        .history(&history)
        .mode(mode)
        .window(model.window)
        .limits(model.limits)
        .layout(model.layout)
        .assemble()
        .map_err(|over| Failure::new(over.to_string()).hint(over.hint()))?;
    show(args, &model, &request)?;
    Ok(ExitCode::SUCCESS)
}

fn show(args: &ContextArgs, model: &Model, request: &RequestContext) -> Result<(), Failure> {
    if args.json {
        print_json(&request.report())
    } else if args.raw {
        // Compact, as it would be sent.
        print_data(&format!("{}\n", recto_llm::encode(model.wire, &model.options, request)))
    } else {
        print(&draw::request(request))
    }
}

/// The message that was typed, or standard input to its end, byte for byte.
fn message(args: &ContextArgs) -> Result<String, Failure> {
    match args.message.as_deref() {
        Some(message) if message != "-" => return Ok(message.to_owned()),
        None if std::io::stdin().is_terminal() => {
            return Err(Failure::new("there is no message")
                .hint("type one behind the command: recto context \"hello\""));
        }
        _ => {}
    }
    read_text(std::io::stdin().lock()).map_err(|error| {
        Failure::new("cannot read the message from standard input").because(&error)
    })
}

/// How many unreadable lines of a history are told one by one.
const TOLD_LINES: usize = 20;

fn read_history(path: &Path) -> Result<Vec<Arc<Message>>, Failure> {
    let failure = || Failure::new(format!("cannot read the history `{}`", path.display()));
    let file = std::fs::File::open(path).map_err(|error| {
        failure().because(&error).hint("name a file with one JSON message a line")
    })?;
    let text = read_text(file).map_err(|error| failure().because(&error))?;
    read_jsonl(&text).map_err(|problems| {
        let told = problems.iter().take(TOLD_LINES);
        let failure = told.fold(failure(), |failure, problem| failure.because(problem));
        let rest = problems.len().saturating_sub(TOLD_LINES);
        let more =
            if rest > 0 { format!("{rest} more lines have problems; ") } else { String::new() };
        failure.hint(format!(
            "{more}each line is a JSON message: {{\"role\": \"user\", \"content\": \"hi\"}}"
        ))
    })
}

/// The most that is read of a message or a history: more than any window holds,
/// and not all of a device that never ends.
const MOST_BYTES: u64 = 256 << 20;

fn read_text(source: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    source.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let what = format!("it is larger than {} MiB", MOST_BYTES >> 20);
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, what));
    }
    Ok(text)
}

fn next_id(history: &[Arc<Message>]) -> MessageId {
    MessageId(history.last().map_or(0, |message| message.id.0).saturating_add(1))
}

fn bootstrap(settings: &Settings, now: &Zoned) -> Bootstrap {
    Bootstrap {
        agent: settings.agent.name.as_str().into(),
        version: env!("CARGO_PKG_VERSION").into(),
        workspace: settings.agent.workspace.to_string_lossy().into(),
        system: std::env::consts::OS.into(),
        day: now.strftime("%Y-%m-%d").to_string().into(),
        surface: "terminal".into(),
    }
}

fn warn_of_assumed_window(settings: &Settings, model: &Model) {
    if model.window.source != WindowSource::Assumed {
        return;
    }
    let tokens = model.window.tokens;
    match settings.chosen_model() {
        Some(entry) => tell(&format_args!(
            "warning: the window of model `{}` is unknown; {tokens} tokens are assumed\n  \
             hint: set `window` in [models.{}]",
            tame(&entry.name),
            tame(&entry.name)
        )),
        None => tell(&format_args!(
            "warning: no model is configured; a window of {tokens} tokens is assumed\n  \
             hint: add a [models.NAME] table to the config"
        )),
    }
}
