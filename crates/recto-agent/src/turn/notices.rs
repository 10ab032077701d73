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
use crate::notice::{DroppedFact, NoticeFacts, TurnNotice};
use crate::record::finish_notice;
use crate::search::RankingBasis;
use crate::step::EndReason;

impl TurnRun<'_> {
    /// Tells what was found wrong when the turn was gathered, and is not told with a request: what
    /// somebody was told before is not told again.
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

    /// What the person is told of a request once it is stored; it is recorded with the request. Of
    /// the message and of the search with the turn's first page alone.
    pub(super) fn notices_of(&mut self, request: &RequestContext) -> Vec<TurnNotice> {
        let mut told = Vec::new();
        if let Some(notices) = &mut self.inputs.notices {
            told.append(&mut notices.of_message);
            told.extend(self.searched_by_words().map(TurnNotice::from));
        }
        let previous = self.previous.as_ref();
        let trims = previous.map_or(0, |previous| previous.carry.trims);
        let cuts = (request.carry.trims > trims).then(|| find_cuts(request)).flatten();
        let of_request = [cuts, self.assumed_window(request), self.images_as_text(request)]
            .into_iter()
            .flatten();
        told.extend(of_request.map(TurnNotice::from));
        told
    }

    /// A search that had to do without vectors.
    fn searched_by_words(&self) -> Option<NoticeFacts> {
        let how = self.state.found().how.as_ref();
        match how.filter(|how| self.shared.searcher.should_tell(how))? {
            RankingBasis::Words(why) => Some(NoticeFacts::SearchedByWords { why: why.clone() }),
            RankingBasis::Dense | RankingBasis::DenseBy(_) => None,
        }
    }

    /// A window that nobody knows, once for as long as the model answers.
    fn assumed_window(&self, request: &RequestContext) -> Option<NoticeFacts> {
        let assumed = |request: &RequestContext| request.window.source == WindowSource::Assumed;
        let was_told =
            |previous: &RequestContext| assumed(previous) && previous.model == request.model;
        let is_new = assumed(request) && !self.previous.as_ref().is_some_and(was_told);
        let model = || self.entry().name.to_string();
        is_new.then(|| NoticeFacts::WindowAssumed { model: model(), tokens: request.window.tokens })
    }

    /// Earlier images that the model does not see, once for as long as it answers.
    fn images_as_text(&self, request: &RequestContext) -> Option<NoticeFacts> {
        let find = |request: &RequestContext| {
            let mut dropped = request.dropped.iter();
            let found = dropped.find(|dropped| dropped.reason == DropReason::ImageAsText);
            found.map(|dropped| dropped.what.clone())
        };
        let was_told =
            |previous: &RequestContext| previous.model == request.model && find(previous).is_some();
        let images = find(request).filter(|_| !self.previous.as_ref().is_some_and(was_told))?;
        Some(NoticeFacts::ImagesAsText { model: self.entry().name.to_string(), images })
    }

    /// Tells of a reply that ended before the model was done.
    pub(super) fn tell_of_finish(&self, request: &RequestContext, finish: &FinishReason) {
        if let Some(notice) = finish_notice(finish, request.budget.reply) {
            self.notify(notice);
        }
    }

    /// What whoever plainly asked to have something remembered is told where nothing was. It is
    /// recorded with the answer.
    pub(super) fn nothing_remembered(&self, outcome: EndReason) -> Option<TurnNotice> {
        let lacks = outcome == EndReason::Answered && self.state.lacks_wanted_call();
        lacks.then(|| NoticeFacts::NothingRemembered.into())
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
                | DropReason::TooLong { .. }
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
