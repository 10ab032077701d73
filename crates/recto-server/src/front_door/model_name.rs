//! The names of models on the front doors: an agent, or one of its model entries.

use axum::http::StatusCode;
use recto_agent::{Agent, ModelEntry};

use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// The name that always means the default agent.
const DEFAULT_MODEL: &str = "recto";

/// The name of the built-in encoder, as Ollama calls the same model.
const EMBEDDING_MODEL: &str = "all-minilm";

/// Other names by which people know that model.
const EMBEDDING_ALIASES: [&str; 4] = [
    "all-minilm:l6-v2",
    "all-minilm:22m",
    "all-MiniLM-L6-v2",
    "sentence-transformers/all-MiniLM-L6-v2",
];

/// The tag that Ollama's clients put behind a name without one.
const DEFAULT_TAG: &str = ":latest";

/// A model as the doors offer it.
#[derive(Debug, Clone)]
pub(crate) struct OfferedModel {
    /// The name under which it can be asked for.
    pub(crate) name: String,
    pub(crate) agent: Agent,
    /// The model entry that is named, where not the agent chooses.
    pub(crate) entry: Option<String>,
}

impl OfferedModel {
    /// The model entry that answers, as far as no session says otherwise.
    pub(crate) fn entry(&self) -> Option<&ModelEntry> {
        match &self.entry {
            Some(name) => self.agent.model(name).ok(),
            None => self.agent.models().first(),
        }
    }
}

/// All models that can be asked for: the agents, the default first, and their model entries.
pub(crate) fn offered_models(gateway: &Gateway) -> Vec<OfferedModel> {
    let mut offered = Vec::new();
    let is_taken = gateway.agent(DEFAULT_MODEL).is_some();
    if let (Ok(agent), false) = (gateway.default_agent(), is_taken) {
        offered.push(OfferedModel {
            name: DEFAULT_MODEL.into(),
            agent: agent.clone(),
            entry: None,
        });
    }
    for agent in gateway.agents() {
        let name = agent.name().to_owned();
        offered.push(OfferedModel { name: name.clone(), agent: agent.clone(), entry: None });
        offered.extend(agent.models().iter().map(|entry| OfferedModel {
            name: format!("{name}/{}", entry.name),
            agent: agent.clone(),
            entry: Some(entry.name.to_string()),
        }));
    }
    offered
}

/// The model that a client asks for.
pub(crate) fn find_model(gateway: &Gateway, name: &str) -> ApiResult<OfferedModel> {
    let name = name.trim();
    let bare = name.strip_suffix(DEFAULT_TAG).unwrap_or(name);
    let offered = offered_models(gateway);
    let found = [name, bare]
        .into_iter()
        .find_map(|wanted| offered.iter().find(|model| model.name == wanted))
        .cloned();
    found
        .or_else(|| find_entry(gateway, bare))
        .ok_or_else(|| unknown_model(gateway, name, &offered))
}

/// A model entry of the default agent, by the name that always means it.
fn find_entry(gateway: &Gateway, name: &str) -> Option<OfferedModel> {
    let entry = name.strip_prefix(DEFAULT_MODEL)?.strip_prefix('/')?;
    let agent = gateway.default_agent().ok()?;
    agent.model(entry).ok()?;
    Some(OfferedModel { name: name.into(), agent: agent.clone(), entry: Some(entry.to_owned()) })
}

/// The name of the encoder that the default agent searches with: as Ollama calls the built-in
/// one, or as the folder of another is called.
pub(crate) fn embedding_model(gateway: &Gateway) -> String {
    let chosen = gateway.default_agent().ok().and_then(|agent| agent.chosen_encoder());
    chosen.unwrap_or_else(|| EMBEDDING_MODEL.to_owned())
}

/// Whether a name means the encoder that the default agent searches with. What the names of the
/// built-in one mean, no other encoder makes.
pub(crate) fn is_embedding_model(gateway: &Gateway, name: &str) -> bool {
    let bare = name.trim().strip_suffix(DEFAULT_TAG).unwrap_or(name.trim());
    let own = embedding_model(gateway);
    bare == own || (own == EMBEDDING_MODEL && EMBEDDING_ALIASES.contains(&bare))
}

fn unknown_model(gateway: &Gateway, name: &str, offered: &[OfferedModel]) -> ApiProblem {
    let names: Vec<&str> = offered.iter().map(|model| model.name.as_str()).collect();
    let title = format!("the model `{name}` does not exist");
    ApiProblem::new(StatusCode::NOT_FOUND, "model_not_found", title).hint(format!(
        "a model is an agent or agent/model: {}; `{}` makes embeddings",
        names.join(", "),
        embedding_model(gateway)
    ))
}
