//! `recto bench mode`: minimal or full, decided for labelled messages.
//!
//! Each message is given to an agent with the workspace that `recto init`
//! writes, as the first of a session whose model is set to `auto`, and the page
//! that a turn would send says how it was decided.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_agent::{Agent, Conversation, Inbound, IsCandidate, SearchPatience};
use recto_context::ModeDecision;
use recto_search::SearchEntry;
use serde::Deserialize;
use serde_json::{Value, json};

use super::lines;
use crate::commands::init;
use crate::commands::search::patiently;
use crate::config::{self, ContextMode, PlacedValue, Provider, SettingOrigin, Settings};
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{print_as, tell};
use crate::remedy_words::with_command;
use crate::setup;

/// The name of the model and of the session, and the place that settings are said to be from.
const NAME: &str = "bench";

#[derive(Deserialize)]
struct LabelledMessage {
    id: String,
    message: String,
    expect: ExpectedMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExpectedMode {
    Minimal,
    Full,
}

impl ExpectedMode {
    fn name(self) -> &'static str {
        match self {
            ExpectedMode::Minimal => "minimal",
            ExpectedMode::Full => "full",
        }
    }
}

pub(super) fn run(home: &RectoHome, messages: &Path, as_json: bool) -> CliResult {
    let messages = {
        let lines = lines::read::<LabelledMessage>(messages)?;
        lines::check_ids(messages, lines.iter().map(|(line, one)| (*line, &*one.id)))?;
        lines.into_iter().map(|(_, message)| message).collect::<Vec<_>>()
    };
    let scratch = ScratchFolder::new()?;
    let settings = example(setup::load(home, Vec::new())?, &scratch.0)?;
    let decided = setup::runtime()?.block_on(async {
        let agent = setup::idle_agent(home, &settings, setup::store(&settings)?)?;
        decide(&agent, messages).await
    })?;
    let right = decided.iter().filter(|one| one.is_right()).count();
    let json = || {
        json!({
            "messages": decided.len(),
            "as_labelled": right,
            "share": right as f64 / decided.len().max(1) as f64,
            "decisions": decided.iter().map(DecisionLine::json).collect::<Vec<_>>(),
        })
    };
    print_as(as_json, json, || drawn(&decided, right))
}

/// The person's settings, but for the workspace, the model and the store: what
/// search takes is measured as it is configured.
fn example(mut settings: Settings, folder: &Path) -> CliResult<Settings> {
    init::fill(folder)?;
    let mut model = config::plain_model(NAME, Provider::Scripted, NAME)
        .ok_or_else(|| CliFailure::new("the example model can't be made"))?;
    model.window = Some(16_384);
    model.context_mode = Some(PlacedValue {
        value: ContextMode::Auto,
        place: SettingOrigin::Flag(NAME.to_owned()),
        spelled: "context_mode".to_owned(),
    });
    settings.model = Some(model.name.clone());
    settings.models = vec![model];
    settings.agent.workspace = folder.join("workspace");
    settings.skills.directory = folder.join("skills");
    settings.skills.extra_dirs.clear();
    settings.skills.disabled.clear();
    settings.tools.disabled.clear();
    settings.store.path = folder.join("data/recto.db");
    settings.items.clear();
    Ok(settings)
}

/// A folder that goes away with the command.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn new() -> CliResult<Self> {
        let folder = std::env::temp_dir().join(format!("recto-bench-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| {
            CliFailure::new(format!("cannot make the folder {}", folder.display())).because(&error)
        })?;
        Ok(ScratchFolder(folder))
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A labelled message and the mode that was decided for it.
struct DecisionLine {
    message: LabelledMessage,
    mode: ModeDecision,
}

impl DecisionLine {
    fn chosen(&self) -> ExpectedMode {
        if self.mode.chosen.is_minimal() { ExpectedMode::Minimal } else { ExpectedMode::Full }
    }

    fn is_right(&self) -> bool {
        self.chosen() == self.message.expect
    }

    fn why(&self) -> String {
        match &self.mode.matched[..] {
            [] => self.mode.reason.describe(),
            words => format!("{} ({})", self.mode.reason.describe(), words.join(", ")),
        }
    }

    fn json(&self) -> Value {
        json!({
            "id": self.message.id,
            "message": self.message.message,
            "expect": self.message.expect.name(),
            "chosen": self.chosen().name(),
            "as_labelled": self.is_right(),
            "reason": self.mode.reason,
            "matched": self.mode.matched,
        })
    }
}

async fn decide(agent: &Agent, messages: Vec<LabelledMessage>) -> CliResult<Vec<DecisionLine>> {
    let conversation = Conversation::with_owner("terminal", "local", NAME);
    let actor = setup::actor();
    let session = agent.find_named_or_begin(&actor, &conversation).await?;
    embed_all(agent).await;
    let mut decided = Vec::with_capacity(messages.len());
    for message in messages {
        let preview = agent.preview(session.id, Inbound::text(&actor, &message.message)).await;
        let preview = preview?;
        decided.push(DecisionLine { message, mode: preview.request.mode });
    }
    Ok(decided)
}

/// A turn would not wait for vectors, and the first messages would be decided
/// without them.
async fn embed_all(agent: &Agent) {
    let entries: Arc<[SearchEntry]> = SearchEntry::from_catalog(&*agent.catalog().await).into();
    let all: IsCandidate = Arc::new(|_| true);
    let searcher = agent.searcher();
    let ranked =
        patiently(searcher, searcher.search(entries, NAME, all, SearchPatience::UntilDone));
    let how = ranked.await.how;
    let how = with_command(how.to_string(), how.remedy().as_ref());
    tell(&format_args!("searched {how}"));
}

fn drawn(decided: &[DecisionLine], right: usize) -> String {
    let mut table = TextTable::new(["id", "expected", "decided", "why", "message"]);
    for one in decided.iter().filter(|one| !one.is_right()) {
        table.row([
            one.message.id.clone(),
            one.message.expect.name().to_owned(),
            one.chosen().name().to_owned(),
            one.why(),
            one.message.message.clone(),
        ]);
    }
    let misses = if right == decided.len() {
        String::new()
    } else {
        table.draw(PageWidth::of_stdout()) + "\n"
    };
    let share = right as f64 * 100.0 / decided.len().max(1) as f64;
    format!("{misses}{right} of {} decided as labelled ({share:.1}%)\n", decided.len())
}
