//! What the tools look at: the config as it is now, and what follows from it.
//!
//! The config is read for every call, so that a server that runs for days follows
//! it. What takes long to make (an index with its encoder, an agent) is kept as
//! long as the config stays. A store that is not there is not made.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex as Lock;
use recto_agent::{Agent, AgentMemories, Searcher};
use recto_context::Catalog;
use recto_store::Store;
use recto_workspace::MemoryView;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::check_report::problem_line;
use crate::cli::AgentArg;
use crate::config::Settings;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::tell;
use crate::setup;

/// Gives the calls what they look at.
pub(super) struct CallHandler {
    home: RectoHome,
    /// Whose index and record are served.
    pub(super) asked: AgentArg,
    state: Mutex<Option<Arc<ServeState>>>,
    agent: Mutex<Option<CachedAgent>>,
    /// Warnings that a person has seen.
    told_warnings: Lock<HashSet<String>>,
}

/// The settings of now, with the store, the search and the memories that follow from them.
pub(super) struct ServeState {
    pub(super) settings: Settings,
    /// `None` as long as nothing was ever stored.
    pub(super) store: Option<Store>,
    pub(super) searcher: Searcher,
    pub(super) memories: AgentMemories,
}

/// An agent, and what it was made from.
struct CachedAgent {
    state: Arc<ServeState>,
    settings: Settings,
    agent: Agent,
}

impl CallHandler {
    pub(super) fn new(home: &RectoHome, asked: &AgentArg) -> Self {
        CallHandler {
            home: home.clone(),
            asked: asked.clone(),
            state: Mutex::default(),
            agent: Mutex::default(),
            told_warnings: Lock::default(),
        }
    }

    /// Loads the config, and opens what follows from it unless that is open already.
    pub(super) async fn state(&self) -> CliResult<Arc<ServeState>> {
        if !self.home.path().is_dir() {
            let what = format!("there is no Recto at {}", self.home.path().display());
            return Err(CliFailure::new(what).hint("a person can set it up with `recto init`"));
        }
        let mut cached = self.state.lock().await;
        let loaded = setup::load_all(&self.home, Vec::new())?;
        self.tell_once(loaded.warnings.iter().map(|warning| format!("warning: {warning}")));
        let settings = setup::asked_settings(&loaded, &self.asked)?.clone();
        let has_store = setup::has_store(&settings);
        let is_same = |state: &&Arc<ServeState>| {
            state.settings == settings && state.store.is_some() == has_store
        };
        if let Some(state) = cached.as_ref().filter(is_same) {
            return Ok(state.clone());
        }
        let store = if has_store { Some(setup::store(&settings)?) } else { None };
        let searcher = setup::searcher(&settings, store.clone());
        let memories = setup::memories(&settings, &searcher, store.clone());
        Ok(cached.insert(Arc::new(ServeState { settings, store, searcher, memories })).clone())
    }

    /// Reads the catalog of all that the agent has now.
    pub(super) async fn catalog(&self, state: &Arc<ServeState>) -> CliResult<Catalog> {
        let (home, shared) = (self.home.clone(), state.clone());
        let read = spawn_blocking(move || {
            let snapshot = setup::read_workspace(&shared.settings)?;
            let problems = snapshot.problems.iter();
            let problems = problems.map(problem_line);
            let catalog = setup::whole_catalog(&home, &shared.settings, &snapshot);
            Ok::<_, CliFailure>((catalog, problems.collect::<Vec<_>>()))
        });
        let (mut catalog, problems) = match read.await {
            Ok(read) => read?,
            Err(error) => return Err(CliFailure::new("cannot read the workspace").because(&error)),
        };
        self.tell_once(problems);
        catalog.memories.clone_from(&self.remembered(state).await.memories);
        Ok(catalog)
    }

    /// What the owner sees of the memories in a new session.
    pub(super) async fn remembered(&self, state: &ServeState) -> Arc<MemoryView> {
        let view = setup::remembered(&state.settings).await;
        let problems = view.problems.iter();
        self.tell_once(problems.map(problem_line));
        view
    }

    /// Recto's home, and the workspace of this run.
    pub(super) fn home(&self) -> &RectoHome {
        &self.home
    }

    /// The agent whose sessions are looked at, with these settings: those of the
    /// state, and the models that were found.
    pub(super) async fn agent(
        &self,
        state: &Arc<ServeState>,
        store: &Store,
        settings: Settings,
    ) -> CliResult<Agent> {
        let mut cached = self.agent.lock().await;
        if let Some(cached) = &*cached
            && Arc::ptr_eq(&cached.state, state)
            && cached.settings == settings
        {
            return Ok(cached.agent.clone());
        }
        let agent = setup::idle_agent(&self.home, &settings, store.clone())?;
        *cached = Some(CachedAgent { state: state.clone(), settings, agent: agent.clone() });
        Ok(agent)
    }

    /// Tells what was not told before.
    fn tell_once(&self, warnings: impl IntoIterator<Item = String>) {
        let mut told_warnings = self.told_warnings.lock();
        for warning in warnings {
            if !told_warnings.contains(&warning) {
                tell(&warning);
                told_warnings.insert(warning);
            }
        }
    }
}
