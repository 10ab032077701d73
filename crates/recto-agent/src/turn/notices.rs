//! What a person should know of a request: what was cut, what was assumed, and
//! whether the server read all of it.

use std::collections::BTreeMap;

use recto_context::{
    DropReason, DroppedEntry, Layer, ObservationOutcome, Part, PartReason, RequestContext, Tokens,
    WindowSource,
};
use recto_llm::{FinishReason, TokenUsage};

use super::TurnRun;
use super::inputs::PendingNotices;
use crate::notice::{DroppedFact, NoticeFacts};
use crate::record::finish_notice;
use crate::search::RankingBasis;
use crate::step::EndReason;

impl TurnRun<'_> {
    /// Tells what was found wrong when the turn was gathered: what somebody was told
    /// before is not told again.
    pub(super) fn tell_notices(&mut self) {
        let Some(mut notices) = self.inputs.notices.take() else { return };
        if self.listeners.is_anybody_there() {
            self.shared.leave_out_told(&mut notices);
        }
        let PendingNotices { of_catalog, of_memories, of_message } = notices;
        for notice in of_catalog.into_iter().chain(of_memories).chain(of_message) {
            self.notify(notice);
        }
    }

    /// Tells of a search that had to do without vectors, once a turn.
    pub(super) fn tell_of_search(&self) {
        let how = self.state.found().how.as_ref().filter(|_| self.requests == 1);
        if let Some(RankingBasis::Words(why)) =
            how.filter(|how| self.shared.searcher.should_tell(how))
        {
            self.notify(NoticeFacts::SearchedByWords { why: why.clone() });
        }
    }

    /// Tells of what had to leave since the last request, and of a window that
    /// nobody knows.
    pub(super) fn tell_of_cuts(&self, request: &RequestContext) {
        let trims = self.previous.as_ref().map_or(0, |previous| previous.carry.trims);
        if request.carry.trims > trims
            && let Some(cuts) = find_cuts(request)
        {
            self.notify(cuts);
        }
        let assumed = |request: &RequestContext| request.window.source == WindowSource::Assumed;
        let was_told =
            |previous: &RequestContext| assumed(previous) && previous.model == request.model;
        if assumed(request) && !self.previous.as_ref().is_some_and(was_told) {
            let model = self.entry().name.to_string();
            let tokens = request.window.tokens;
            self.notify(NoticeFacts::WindowAssumed { model, tokens });
        }
    }

    /// Tells of earlier images that the model does not see, once for as long as it answers.
    pub(super) fn tell_of_images(&self, request: &RequestContext) {
        let find = |request: &RequestContext| {
            let mut dropped = request.dropped.iter();
            let found = dropped.find(|dropped| dropped.reason == DropReason::ImageAsText);
            found.map(|dropped| dropped.what.clone())
        };
        let was_told =
            |previous: &RequestContext| previous.model == request.model && find(previous).is_some();
        if let Some(images) = find(request)
            && !self.previous.as_ref().is_some_and(was_told)
        {
            let model = self.entry().name.to_string();
            self.notify(NoticeFacts::ImagesAsText { model, images });
        }
    }

    /// Tells of a reply that ended before the model was done.
    pub(super) fn tell_of_finish(&self, request: &RequestContext, finish: &FinishReason) {
        if let Some(notice) = finish_notice(finish, request.budget.reply) {
            self.notify(notice);
        }
    }

    /// Tells whoever plainly asked to have something remembered that nothing was.
    pub(super) fn tell_of_memory(&self, outcome: EndReason) {
        if outcome == EndReason::Answered && self.state.lacks_wanted_call() {
            self.notify(NoticeFacts::NothingRemembered);
        }
    }

    /// Learns from the server's count of the prompt, and tells when it is so low
    /// that the server must have cut it.
    pub(super) fn learn(&mut self, request: &RequestContext, usage: &TokenUsage) -> PromptCut {
        let Some(counted) = usage.prompt else { return PromptCut::No };
        if self.inputs.model.counts.is_some() {
            // The model's own tokenizer leaves nothing to learn.
            return PromptCut::No;
        }
        let (verdict, calibration) =
            self.shared.observe(self.entry(), request, Tokens::new(counted));
        match verdict {
            ObservationOutcome::Used => {
                let stored = serde_json::to_value(&calibration).ok();
                self.pending.calibration = stored.map(|stored| (self.entry().counted_as(), stored));
                self.inputs.model.calibration = calibration;
                PromptCut::No
            }
            ObservationOutcome::ImplausiblyLow if self.may_be_what_was_not_cached(counted) => {
                PromptCut::No
            }
            ObservationOutcome::ImplausiblyLow => {
                let expected = request.prompt_tokens();
                self.notify(NoticeFacts::PromptCut { counted, expected });
                PromptCut::Probably
            }
            ObservationOutcome::Empty | ObservationOutcome::ImplausiblyHigh => PromptCut::No,
        }
    }

    /// Some servers count only what they had to read, and leave out what their
    /// cache held. Then the count is about that of what is new in the request.
    fn may_be_what_was_not_cached(&self, counted: u32) -> bool {
        self.fresh_tokens.is_some_and(|fresh| {
            (fresh.get() / 4..=fresh.get().saturating_mul(2)).contains(&counted)
        })
    }
}

/// Whether the server read all of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptCut {
    /// Nothing says that it did not.
    No,
    /// It counted far fewer tokens than there are.
    Probably,
}

/// The tools of MCP servers for which there was no room: of a server with very many one fact.
fn cut_server_tools(dropped: &[DroppedEntry]) -> impl Iterator<Item = DroppedFact> {
    let mut servers: BTreeMap<&str, (usize, Tokens)> = BTreeMap::new();
    for entry in dropped {
        if let DropReason::ServerTools { server } = &entry.reason {
            let (count, tokens) = servers.entry(server).or_default();
            (*count, *tokens) = (*count + 1, *tokens + entry.before);
        }
    }
    servers.into_iter().map(|(server, (count, tokens))| DroppedFact {
        what: format!("{count} tools of MCP server `{server}`"),
        layer: Layer::Tools,
        tokens,
        reason: DropReason::ServerTools { server: server.into() },
    })
}

/// What a request had to leave out for want of room.
fn find_cuts(request: &RequestContext) -> Option<NoticeFacts> {
    let is_cut = |dropped: &&DroppedEntry| {
        matches!(
            dropped.reason,
            DropReason::HistoryMessages { .. }
                | DropReason::HistoryTokens { .. }
                | DropReason::NoRoom
                | DropReason::Shortened
        )
    };
    let fact = |dropped: &DroppedEntry| DroppedFact {
        what: dropped.what.clone(),
        layer: dropped.layer,
        tokens: dropped.before,
        reason: dropped.reason.clone(),
    };
    let mut dropped: Vec<DroppedFact> = request.dropped.iter().filter(is_cut).map(fact).collect();
    dropped.extend(cut_server_tools(&request.dropped));
    let is_summary = |part: &Part| matches!(part.reason, PartReason::Summary { .. });
    let summarized = request.parts.iter().any(is_summary);
    (!dropped.is_empty()).then_some(NoticeFacts::LeftOut { dropped, summarized })
}
