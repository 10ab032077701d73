//! What memory adds to a turn: the same messages with a year's memories and without any,
//! in turn.

use std::path::Path;

use recto_agent::{Actor, Agent, Inbound};
use recto_context::{Layer, RequestContext};
use recto_search::EncoderFiles;
use recto_store::SessionId;

use super::home::{self, HomeMemories, HomeRules, YearHome};
use super::year;
use crate::Result;
use crate::bench::agent::take_turn;
use crate::bench::pair::{TimedPair, timed};

const RUNS: usize = 150;
const WARM_UP: usize = 20;

/// What memory adds to a turn, stage by stage.
pub(super) struct MemoryOverhead {
    /// To the way from a message to its request, in a session that has just begun.
    pub(super) first: TimedPair,
    /// The same in a session that goes on.
    pub(super) later: TimedPair,
    /// To a whole turn, with all that is stored of it.
    pub(super) whole: TimedPair,
}

/// Measures in homes with rules that come when they fit, or without: there a message is
/// searched for anyway, here for its memories alone.
pub(super) async fn measure(
    home: &YearHome,
    folder: &Path,
    rules: HomeRules,
    encoder: Option<&EncoderFiles>,
) -> Result<MemoryOverhead> {
    let with =
        TurnBench::open(home, &folder.join("with"), HomeMemories::Year, rules, encoder).await?;
    let without =
        TurnBench::open(home, &folder.join("without"), HomeMemories::None, rules, encoder).await?;
    let (mut first, mut later, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    // Each message once: the embedding of the last one is at hand.
    for (run, messages) in year::messages((WARM_UP + RUNS) * 3).chunks(3).enumerate() {
        let [one, two, three] = messages else { break };
        let begun = (without.request(without.new, one).await?, with.request(with.new, one).await?);
        let turned = (without.turn(two).await?, with.turn(two).await?);
        let gone_on =
            (without.request(without.old, three).await?, with.request(with.old, three).await?);
        if run < WARM_UP {
            continue;
        }
        if run == WARM_UP {
            let looked =
                with.agent.preview(with.new, Inbound::text(&Actor::owner("bench"), one)).await?;
            expect(&looked.request, encoder)?;
        }
        first.push(begun);
        whole.push(turned);
        later.push(gone_on);
    }
    let searched = rules.describe();
    Ok(MemoryOverhead {
        first: TimedPair::new(format!("first request of a session, {searched}"), first)?,
        later: TimedPair::new(format!("later request, {searched}"), later)?,
        whole: TimedPair::new(format!("whole turn, {searched}"), whole)?,
    })
}

/// A benchmark that measured without the memories would flatter.
fn expect(request: &RequestContext, encoder: Option<&EncoderFiles>) -> Result<()> {
    let memories = request.parts.iter().filter(|part| part.layer == Layer::Memory);
    if memories.count() < 5 {
        return Err("there are no memories on the page".into());
    }
    let looked_at = request.carry.snapshot.iter().flat_map(|snapshot| &snapshot.entries);
    let dense = looked_at.filter_map(|entry| entry.scores).any(|scores| scores.cosine.is_some());
    match dense == encoder.is_some() {
        true => Ok(()),
        false if dense => Err("memories were searched by meaning, without an encoder".into()),
        false => Err("memories were searched by words alone".into()),
    }
}

/// An agent, a session that stays empty, and one that grows.
struct TurnBench {
    agent: Agent,
    new: SessionId,
    old: SessionId,
}

impl TurnBench {
    async fn open(
        home: &YearHome,
        folder: &Path,
        memories: HomeMemories,
        rules: HomeRules,
        encoder: Option<&EncoderFiles>,
    ) -> Result<Self> {
        let agent = home.beside(folder, memories, rules)?.start(encoder).await?;
        let new = home::session(&agent, "new").await?;
        let old = home::session(&agent, "old").await?;
        Ok(TurnBench { agent, new, old })
    }

    /// What it takes to get from a message to a request.
    async fn request(&self, session: SessionId, message: &str) -> Result<f64> {
        let (time, request) =
            timed(self.agent.preview(session, Inbound::text(&Actor::owner("bench"), message)))
                .await;
        request?;
        Ok(time)
    }

    /// What it takes to get from a message to the end of its turn.
    async fn turn(&self, message: &str) -> Result<f64> {
        let (time, turned) = timed(take_turn(&self.agent, self.old, message)).await;
        turned?;
        Ok(time)
    }
}
