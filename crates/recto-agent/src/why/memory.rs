//! What is known of memories that a request's record does not name.
//!
//! A record says which memories were on the page and which search looked at; to list all
//! others each time would make it many times as long. So this goes by the files and by
//! search as they are now, and says no more than follows from that.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_context::{
    Audience, DropReason, ItemKind, ItemStatus, Layer, Memory, MessageId, Part, Pick,
    RequestContext, Tokens, TypedMemory, visible_text,
};
use recto_store::{RequestRecord, Store};
use recto_workspace::{Horizon, MemoryView};

use super::{ItemExplanation, ItemReason, explain_item};
use crate::error::AgentResult;
use crate::items::{ItemName, without_mentions};
use crate::memories::{AgentMemories, MemoryRanking};
use crate::options::SessionSettings;
use crate::search::{SearchPatience, search_message};
use crate::turn::said_before;

impl AgentMemories {
    /// Explains what became of every item that answers to a name, in a request that is recorded
    /// as `record` and was restored as `request`: what the record says, and for memories
    /// on which it is silent, what is known now.
    ///
    /// `others` are memories that whoever asks may see, whether the session's audience
    /// may or not. Those who are in the session ask without: to them, what they may not
    /// see is not there.
    pub async fn explain(
        &self,
        store: &Store,
        record: &RequestRecord,
        request: &RequestContext,
        name: &str,
        others: &[Memory],
    ) -> AgentResult<Vec<ItemExplanation>> {
        let mut answers = explain_item(request, name);
        for answer in &mut answers {
            answer.quote_use(store).await;
        }
        let typed = TypedMemory::new(name);
        let is_exact = |why: &ItemExplanation| {
            ItemName::parse(name).means(&why.item) || typed.is_exactly(&why.item.name)
        };
        if !typed.is_name() || answers.iter().any(is_exact) {
            return Ok(answers);
        }
        let session = store.session(record.session).await?;
        let settings = session.map(|session| SessionSettings::from_store(&session.settings));
        let audience = &settings.unwrap_or_default().audience();
        let turn = store.turn(record.turn).await?;
        let at = turn.map_or(record.at, |turn| turn.started.unwrap_or(turn.accepted)).timestamp();
        let seen = self.files().read(audience, Horizon::All).await;
        for memory in silent(typed, &seen.memories, &answers) {
            let reason = self.judge(memory, request, audience, at).await;
            answers.push(answer(memory, reason));
        }
        for memory in silent(typed, others, &answers) {
            answers.push(answer(memory, ItemReason::NotSeen { by: audience.who }));
        }
        Ok(answers)
    }

    /// What can be said of a memory that may be seen, and that the record does not name.
    async fn judge(
        &self,
        memory: &Memory,
        request: &RequestContext,
        audience: &Audience,
        at: Timestamp,
    ) -> ItemReason {
        let today = at.to_zoned(TimeZone::system()).date();
        let is_there = |memory: &&Memory| match day_alone(memory) {
            Some(day) => day <= today,
            None => memory.added.is_none_or(|added| added <= at.as_second()),
        };
        let added = memory.added.and_then(|added| Timestamp::from_second(added).ok());
        if let Some(added) = added.filter(|_| !is_there(&memory)) {
            return ItemReason::NotYet { added };
        }
        let view = self.files().read(audience, Horizon::Recent(today)).await;
        let is_recent = view.memories.iter().any(|recent| recent.name == memory.name);
        if let Some(day) = note_day(memory).filter(|_| !is_recent) {
            return ItemReason::OldNote { day };
        }
        if let Some(reason) = hidden(request) {
            return ItemReason::NoMemories { reason: reason.clone() };
        }
        let snapshot = request.carry.snapshot.as_ref();
        let own = snapshot.and_then(|snapshot| snapshot.own_message(&memory.name));
        if let Some(message) = own.filter(|said| is_in_history(request, *said)) {
            return ItemReason::RememberedHere { message };
        }
        let pinned = || snapshot.into_iter().flat_map(|snapshot| &snapshot.entries);
        if pinned().any(|entry| entry.item == memory.id()) {
            let (layer, reason) = (Layer::Memory, DropReason::MemoryLimit);
            return ItemReason::Recorded(ItemStatus::LeftOut { layer, reason, candidate: None });
        }
        let is_memory = |pick: &&Pick| pick.item.kind == ItemKind::Memory;
        let looked_at = request.found.iter().chain(&request.candidates).filter(is_memory).count();
        if looked_at == 0 && pinned().all(|entry| entry.scores.is_none()) {
            return ItemReason::NotSearched;
        }
        let there: Vec<Memory> = view.memories.iter().filter(is_there).cloned().collect();
        let all = there.len();
        let MemoryRanking { best, duplicates } = self.rank_again(&view, there, request, at).await;
        if let Some(double) = duplicates.into_iter().find(|double| double.pick.item == memory.id())
        {
            let (of, cosine) = (double.of, double.cosine);
            return ItemReason::Recorded(ItemStatus::SaysTheSame { of, cosine });
        }
        let now = best.iter().find(|pick| pick.item == memory.id()).cloned();
        match looked_at {
            0 => ItemReason::NotSearched,
            _ => ItemReason::Outranked { looked_at, now, best: best.len(), all },
        }
    }

    /// Searches once more what was there, for what was said. Whoever talks in a session
    /// does not wait longer for it than for a turn.
    async fn rank_again(
        &self,
        view: &MemoryView,
        there: Vec<Memory>,
        request: &RequestContext,
        at: Timestamp,
    ) -> MemoryRanking {
        let said = visible_text(request.sent.content());
        let said = without_mentions(&said);
        let everything = view.everything.clone();
        let view = Arc::new(MemoryView { memories: there, problems: Vec::new(), everything });
        let history = request.layer(Layer::History).filter_map(Part::message);
        let speaker = request.sent.as_user().and_then(|user| user.speaker.as_ref());
        let before = said_before(&said, history, speaker);
        let said = search_message(&said, before.as_ref());
        self.rank(&view, &said, at, SearchPatience::OneSecond).await.0
    }
}

/// The memories that a name means and of which nothing is told yet.
fn silent<'a>(
    name: TypedMemory<'_>,
    memories: &'a [Memory],
    told: &[ItemExplanation],
) -> Vec<&'a Memory> {
    let is_told = |memory: &&Memory| told.iter().any(|why| why.item == memory.id());
    name.among(memories).into_iter().filter(|memory| !is_told(memory)).collect()
}

fn answer(memory: &Memory, reason: ItemReason) -> ItemExplanation {
    let (item, tokens) = (memory.id(), Tokens::ZERO);
    let (also, read, since, used_for) = (Vec::new(), None, None, None);
    ItemExplanation { item, tokens, reason, also, read, since, used_for }
}

/// The day on which a memory came, where nothing more exact is known: its beginning
/// stands for it, wherever one is.
fn day_alone(memory: &Memory) -> Option<Date> {
    const DAY: i64 = 24 * 60 * 60;
    let at = Timestamp::from_second(memory.added?).ok()?;
    (at.as_second() % DAY == 0).then(|| at.to_zoned(TimeZone::UTC).date())
}

/// The day of a daily note that a memory stands in.
fn note_day(memory: &Memory) -> Option<Date> {
    memory.name.rsplit_once('#')?.0.strip_suffix(".md")?.parse().ok()
}

/// Whether the exchange that a message began is on the page.
fn is_in_history(request: &RequestContext, said: MessageId) -> bool {
    let mut messages = request.parts.iter().filter_map(Part::message);
    messages.any(|message| message.id == said)
}

/// Why the page had no memories, if that is so.
fn hidden(request: &RequestContext) -> Option<&DropReason> {
    let of_memories = request.dropped.iter().filter(|dropped| dropped.layer == Layer::Memory);
    let mut whole = of_memories.filter(|dropped| dropped.item.is_none());
    let is_hiding =
        |reason: &&DropReason| matches!(reason, DropReason::Mode | DropReason::Preset(_));
    whole.find_map(|dropped| Some(&dropped.reason).filter(is_hiding))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_exactly_there_is_meant_alone() {
        let memories = [Memory::new("a.md", "tea", None), Memory::new("b.md", "tea", None)];
        let name = memories[1].name.to_string();
        let digits = &name.rsplit_once('#').unwrap().1[..5];
        assert_eq!(silent(TypedMemory::new(&name), &memories, &[]), [&memories[1]]);
        assert_eq!(silent(TypedMemory::new(digits), &memories, &[]), [&memories[0], &memories[1]]);
        let told = [answer(&memories[0], ItemReason::NotSearched)];
        assert_eq!(silent(TypedMemory::new(digits), &memories, &told), [&memories[1]]);
        assert!(silent(TypedMemory::new(&memories[0].name), &memories, &told).is_empty());
    }
}
