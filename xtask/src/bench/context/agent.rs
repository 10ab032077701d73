//! The same turn through the agent, as a gateway takes it: the session is read
//! from the store, the files are looked at, the request assembled.
//!
//! The session is a real one in a real database. Before each measured request a
//! whole turn is taken with a model that answers at once, so that the session
//! grows, trims, and is never wholly known.

use std::path::Path;

use recto_agent::{Actor, Agent, Conversation, Inbound, SearchParts};
use recto_store::{
    BindingKey, Moment, NewMessage, NewSession, SessionHolder, SessionId, SessionName, SettingsMap,
    Store, StoreOptions,
};
use recto_tools::ToolOptions;

use super::{HISTORY, MESSAGE, StageCost, WINDOW, spend};
use crate::Result;
use crate::bench::agent::{self, AgentSetup, take_turn};
use crate::bench::synthetic;

const WARM_UP: usize = 50;
const TURNS: usize = 1_000;
const STARTS: usize = 20;

/// What requests cost while the agent runs, and the first one after a start.
pub(super) struct AgentCosts {
    pub(super) warm: Vec<StageCost>,
    pub(super) first: Vec<StageCost>,
}

pub(super) async fn measure(workspace: &Path, data: &Path) -> Result<AgentCosts> {
    let path = data.join("recto.db");
    let session = import(&path).await?;
    let agent = start(workspace, &path).await?;
    let mut warm = Vec::with_capacity(TURNS);
    for turn in 0..WARM_UP + TURNS {
        take_turn(&agent, session, MESSAGE).await?;
        let (cost, request) =
            spend(agent.preview(session, Inbound::text(&Actor::owner("bench"), MESSAGE))).await;
        request?;
        if turn >= WARM_UP {
            warm.push(cost);
        }
    }
    drop(agent);
    let mut first = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let agent = start(workspace, &path).await?;
        let (cost, request) =
            spend(agent.preview(session, Inbound::text(&Actor::owner("bench"), MESSAGE))).await;
        request?;
        first.push(cost);
    }
    Ok(AgentCosts { warm, first })
}

/// A store with the long conversation in it.
async fn import(path: &Path) -> Result<SessionId> {
    let store = Store::open(&StoreOptions::new(path))?;
    let conversation = Conversation::with_owner("bench", "bench", "bench");
    let key = BindingKey {
        agent: "bench".to_owned(),
        surface: conversation.surface.clone(),
        account: conversation.account,
        conversation: conversation.name.clone(),
        user: None,
        holder: SessionHolder::owner(),
    };
    let new = NewSession {
        agent: "bench".to_owned(),
        name: Some(SessionName::new(&conversation.name)?),
        surface: conversation.surface,
        at: Moment::now(),
        settings: SettingsMap::default(),
    };
    let at = Moment::now();
    let messages = synthetic::conversation(HISTORY);
    let messages: Vec<_> = messages.into_iter().map(|message| NewMessage { message, at }).collect();
    Ok(store.import(key, new, messages).await?.id)
}

async fn start(workspace: &Path, database: &Path) -> Result<Agent> {
    let (tools, search) = (ToolOptions::new(workspace), SearchParts::default());
    agent::start(AgentSetup { name: "bench", workspace, database, window: WINDOW, tools, search })
        .await
}
