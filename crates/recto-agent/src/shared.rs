//! What all sessions of an agent have in common.

#[cfg(test)]
mod readings;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use recto_context::{
    Calibration, ObservationOutcome, RequestContext, TokenCounter, TokenRates, Tokens, Window,
    WindowSource,
};
use recto_llm::{LlmError, ServerWindow, WindowSizes};
use recto_store::{
    ApprovalAnswer, ApprovalDecision, ApprovalId, Moment, SessionId, StoredApproval, TurnId,
};
use tokio::sync::{Notify, watch};

use crate::actor::Actor;
use crate::agent_catalog::{AgentCatalog, CatalogCache, CatalogPurpose};
use crate::delegation::{AgentLink, DelegateTool};
use crate::elsewhere::ElsewhereWatch;
use crate::error::{AgentError, AgentResult};
use crate::event_stream::EventStreams;
use crate::exact_counts::ExactCounts;
use crate::memories::{AgentMemories, runnable_tools};
use crate::options::{AgentParts, ModelEntry};
use crate::own_use::UseRecord;
use crate::schedules::{ScheduleHealth, ScheduleTool};
use crate::search::Searcher;
use crate::session_files::SessionFiles;
use crate::stop::StopSignal;
use crate::turn::PendingNotices;
use crate::turn_gate::TurnGate;

/// Notices on memories that are known to have been told. Beyond it some are told again.
const MOST_TOLD: usize = 1_000;

/// What all sessions of an agent have in common.
#[derive(Debug)]
pub(crate) struct AgentShared {
    pub(crate) parts: AgentParts,
    /// Models that were found later, where the agent began without any.
    found_models: OnceLock<Vec<ModelEntry>>,
    pub(crate) catalogs: CatalogCache,
    told_notices: Mutex<ToldNotices>,
    /// Rings when a person has answered a question.
    pub(crate) answered: Notify,
    /// Windows that servers have told, by model entry.
    windows: Mutex<HashMap<Arc<str>, Window>>,
    /// By what [`ModelEntry::counted_as`] says.
    calibrations: Mutex<HashMap<String, Calibration>>,
    /// Exact counts by model entry, where its tokenizer is at hand.
    counts: Mutex<HashMap<Arc<str>, Arc<ExactCounts>>>,
    /// The way from its tools to the agent itself.
    pub(crate) link: Arc<AgentLink>,
    pub(crate) searcher: Searcher,
    pub(crate) memories: AgentMemories,
    /// What people used before.
    pub(crate) uses: UseRecord,
    /// Where sessions are also kept as Markdown, if they are.
    pub(crate) session_files: Option<SessionFiles>,
    /// How many messages and turns wait or run, over all sessions.
    work: watch::Sender<usize>,
    /// The turns among them that another process left.
    taken_up: Mutex<BTreeSet<TurnId>>,
    /// Lets what people ask for go before these.
    pub(crate) gate: TurnGate,
    /// The events of the sessions that somebody talks in or watches.
    pub(crate) streams: EventStreams,
    /// The task that tells those who listen of turns in other processes.
    pub(crate) elsewhere: ElsewhereWatch,
    /// Whether the agent's schedules are run here.
    pub(crate) schedules: Mutex<ScheduleHealth>,
    /// Held by whoever has some texts encoded for a client, in the order in which they ask.
    pub(crate) embedding_order: tokio::sync::Mutex<()>,
    /// Given when the agent is shut down.
    pub(crate) closing: StopSignal,
    #[cfg(test)]
    pub(crate) readings: readings::ReadingCounts,
}

impl AgentShared {
    pub(crate) fn new(mut parts: AgentParts) -> Self {
        let (search, store) = (parts.search.clone(), parts.store.clone());
        let agent = &parts.options.name;
        let searcher = Searcher::new(search, Some(store.clone()), agent);
        let uses = UseRecord::new(agent, store.clone(), &searcher);
        let memories = AgentMemories::new(agent, parts.memory.clone(), &searcher, Some(store));
        runnable_tools(&memories).for_each(|tool| parts.tools.add(tool));
        let link = Arc::new(AgentLink::default());
        parts.tools.add(Arc::new(DelegateTool::new(&link)));
        parts.tools.add(Arc::new(ScheduleTool::new(&link)));
        AgentShared {
            found_models: OnceLock::new(),
            link,
            searcher,
            memories,
            uses,
            session_files: parts.options.session_files.clone().map(SessionFiles::new),
            parts,
            catalogs: CatalogCache::default(),
            told_notices: Mutex::default(),
            answered: Notify::new(),
            windows: Mutex::default(),
            calibrations: Mutex::default(),
            counts: Mutex::default(),
            work: watch::Sender::default(),
            taken_up: Mutex::default(),
            gate: TurnGate::default(),
            streams: EventStreams::default(),
            elsewhere: ElsewhereWatch::default(),
            schedules: Mutex::default(),
            embedding_order: tokio::sync::Mutex::default(),
            closing: StopSignal::default(),
            #[cfg(test)]
            readings: readings::ReadingCounts::default(),
        }
    }

    /// All that the agent has now. Before a turn a server whose tools are not known
    /// yet is asked for them; one that was asked before is not started for it.
    pub(crate) async fn catalog(&self, purpose: CatalogPurpose) -> AgentCatalog {
        #[cfg(test)]
        self.readings.count_workspace();
        if purpose == CatalogPurpose::Turn {
            self.parts.tools.servers().learn_tools().await;
        }
        self.catalogs.get(&self.parts, purpose).await
    }

    /// Takes out what people were told before. The rest counts as told from here on,
    /// so it is for whoever tells it now.
    pub(crate) fn leave_out_told(&self, notices: &mut PendingNotices) {
        let PendingNotices { of_catalog, of_memories, .. } = notices;
        let told = &mut *self.told_notices.lock();
        // A skill that was looked at, and then changed once more, is told of once more.
        told.of_catalog.retain(|text| of_catalog.iter().any(|notice| notice.text == *text));
        of_catalog.retain(|notice| told.of_catalog.insert(notice.text.clone()));
        // Each session sees other memories, so nobody can say which are settled.
        if told.of_memories.len() > MOST_TOLD {
            told.of_memories.clear();
        }
        of_memories.retain(|notice| told.of_memories.insert(notice.text.clone()));
    }

    /// Writes an answer, and wakes the turn in this process that waits for it.
    pub(crate) async fn answer_approval(
        &self,
        id: ApprovalId,
        answer: ApprovalAnswer,
        by: Option<&Actor>,
    ) -> AgentResult<StoredApproval> {
        let decision = ApprovalDecision { answer, at: Moment::now(), by: by.map(Actor::to_store) };
        let stored = self.parts.store.answer_approval(id, decision).await;
        self.answered.notify_waiters();
        Ok(stored?)
    }

    /// The model entries, the default first.
    pub(crate) fn models(&self) -> &[ModelEntry] {
        match self.parts.models.as_slice() {
            [] => self.found_models.get().map_or(&[], Vec::as_slice),
            models => models,
        }
    }

    pub(crate) fn add_found_models(&self, models: Vec<ModelEntry>) {
        if !models.is_empty() {
            // Those that were found first stay: turns may be under way with them.
            _ = self.found_models.set(models);
        }
    }

    /// The model entry of that name, or the first.
    pub(crate) fn model(&self, name: Option<&str>) -> AgentResult<&ModelEntry> {
        let models = self.models();
        let Some(name) = name else { return models.first().ok_or(AgentError::NoModel) };
        models.iter().find(|entry| &*entry.name == name).ok_or_else(|| AgentError::NoSuchModel {
            name: name.to_owned(),
            known: models.iter().map(|entry| entry.name.to_string()).collect(),
        })
    }

    /// The window of a model: as set, as its server says, or assumed where the
    /// server does not say. A server is asked once; one that gives no answer is
    /// asked again next time.
    pub(crate) async fn window(&self, entry: &ModelEntry) -> Result<Window, LlmError> {
        if let Some(window) = self.known_window(entry) {
            return Ok(window);
        }
        let window = model_window(entry, self.parts.options.window_cap).await?;
        self.windows.lock().insert(entry.name.clone(), window);
        Ok(window)
    }

    /// Corrects a window that is too much for the server. It may have reported the right
    /// one; otherwise it is asked again.
    pub(crate) fn correct_window(&self, entry: &ModelEntry, reported: Option<u32>) {
        let mut windows = self.windows.lock();
        match reported.filter(|tokens| *tokens > 0) {
            Some(tokens) => {
                let before = windows.get(&entry.name).copied().unwrap_or(Window::ASSUMED);
                let (tokens, source) = (Tokens::new(tokens), WindowSource::Server);
                windows.insert(entry.name.clone(), Window { tokens, source, ..before });
            }
            None => {
                windows.remove(&entry.name);
            }
        }
    }

    /// The window, if it is known without asking.
    pub(crate) fn known_window(&self, entry: &ModelEntry) -> Option<Window> {
        match entry.window {
            Some(tokens) => Some(Window::from_config(tokens)),
            None => self.windows.lock().get(&entry.name).copied(),
        }
    }

    /// How the model's tokens are counted, as far as its server has taught us.
    pub(crate) async fn calibration(&self, entry: &ModelEntry) -> AgentResult<Calibration> {
        let key = entry.counted_as();
        if let Some(known) = self.calibrations.lock().get(&key) {
            return Ok(known.clone());
        }
        let stored = self.parts.store.calibration(&key).await?;
        // A state of an older form is left behind, and learning begins anew.
        let read = stored.and_then(|stored| serde_json::from_value(stored).ok());
        let calibration = read.unwrap_or_else(|| Calibration::new(TokenRates::default()));
        self.calibrations.lock().insert(key, calibration.clone());
        Ok(calibration)
    }

    /// Exact counts for a model, if its own tokenizer can be had. What keeps it from
    /// being had will also keep the model from answering, and is told then.
    pub(crate) async fn counts(&self, entry: &ModelEntry) -> Option<Arc<ExactCounts>> {
        if let Some(known) = self.counts.lock().get(&entry.name) {
            return Some(known.clone());
        }
        let tokenizer = entry.client.tokenizer().await.ok().flatten()?;
        let counts = Arc::new(ExactCounts::new(tokenizer, entry));
        self.counts.lock().insert(entry.name.clone(), counts.clone());
        Some(counts)
    }

    /// Counts something as work, until the guard is dropped.
    pub(crate) fn begin_work(self: &Arc<Self>, kind: WorkKind) -> WorkGuard {
        self.work.send_modify(|work| *work += 1);
        match kind {
            WorkKind::Asked(session) => self.gate.ask(session),
            WorkKind::TakenUp(turn) => drop(self.taken_up.lock().insert(turn)),
        }
        WorkGuard { shared: self.clone(), kind }
    }

    /// Counts a turn of a session that waits for a person as no work, until the guard is
    /// dropped.
    pub(crate) fn rest(&self, session: SessionId) -> RestGuard<'_> {
        self.work.send_modify(|work| *work = work.saturating_sub(1));
        self.gate.rest(session);
        RestGuard { shared: self, session }
    }

    /// The turns under way that another process left.
    pub(crate) fn taken_up(&self) -> Vec<TurnId> {
        self.taken_up.lock().iter().copied().collect()
    }

    pub(crate) fn has_work(&self) -> bool {
        *self.work.borrow() > 0
    }

    /// Waits until nothing runs or waits any more.
    pub(crate) async fn wait_for_idle(&self) {
        // The sender lives as long as this does.
        let _ = self.work.subscribe().wait_for(|work| *work == 0).await;
    }

    /// Learns what a server counted. Sessions learn together: each adds to what
    /// the others have found.
    pub(crate) fn observe(
        &self,
        entry: &ModelEntry,
        request: &RequestContext,
        counted: Tokens,
    ) -> (ObservationOutcome, Calibration) {
        let mut calibrations = self.calibrations.lock();
        let calibration = calibrations
            .entry(entry.counted_as())
            .or_insert_with(|| Calibration::new(TokenRates::default()));
        let (profile, messages) = request.profile();
        (calibration.observe(&profile, messages, counted), calibration.clone())
    }
}

/// Notices that people were told and that are not repeated.
#[derive(Debug, Default)]
struct ToldNotices {
    of_catalog: HashSet<String>,
    of_memories: HashSet<String>,
}

/// Whom work is done for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkKind {
    /// Somebody who asked for it in this session, now.
    Asked(SessionId),
    /// Somebody who asked another process for it, which left this turn.
    TakenUp(TurnId),
}

/// Stands for a message or a turn that waits or runs.
#[derive(Debug)]
pub(crate) struct WorkGuard {
    shared: Arc<AgentShared>,
    kind: WorkKind,
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        match self.kind {
            WorkKind::Asked(session) => self.shared.gate.settle(session),
            WorkKind::TakenUp(turn) => drop(self.shared.taken_up.lock().remove(&turn)),
        }
        self.shared.work.send_modify(|work| *work = work.saturating_sub(1));
    }
}

/// Stands for a turn that waits for a person.
pub(crate) struct RestGuard<'a> {
    shared: &'a AgentShared,
    session: SessionId,
}

impl Drop for RestGuard<'_> {
    fn drop(&mut self) {
        self.shared.gate.wake(self.session);
        self.shared.work.send_modify(|work| *work += 1);
    }
}

/// A model's window: as set, or as its server says. Of what a model was trained
/// for at most `cap` is used, because a window costs memory.
pub async fn model_window(entry: &ModelEntry, cap: Tokens) -> Result<Window, LlmError> {
    if let Some(tokens) = entry.window {
        return Ok(Window::from_config(tokens));
    }
    Ok(capped_window(entry.client.server_window(&entry.call.model).await?, cap))
}

/// The window to use of what a server tells. What it has loaded is not capped: that costs
/// nothing more.
fn capped_window(sizes: WindowSizes, cap: Tokens) -> Window {
    let (tokens, source) = match sizes.window {
        ServerWindow::Loaded(tokens) => (Tokens::new(tokens), WindowSource::Server),
        ServerWindow::Trained(tokens) => (Tokens::new(tokens).min(cap), WindowSource::Trained),
        ServerWindow::Fits(tokens) if Tokens::new(tokens) < cap => {
            (Tokens::new(tokens), WindowSource::Memory)
        }
        ServerWindow::Fits(_) => (cap, WindowSource::Trained),
        ServerWindow::Unknown => (Window::ASSUMED.tokens, WindowSource::Assumed),
    };
    let is_capped = matches!(source, WindowSource::Trained | WindowSource::Memory);
    let cap = is_capped.then_some(cap);
    Window { tokens, source, trained: sizes.trained.map(Tokens::new), cap }
}

/// The counter that a calibration makes.
pub(crate) fn counter_from(calibration: &Calibration) -> TokenCounter<'static> {
    match calibration.observations() {
        0 => TokenCounter::estimated(),
        _ => TokenCounter::calibrated(calibration.rates()),
    }
}
