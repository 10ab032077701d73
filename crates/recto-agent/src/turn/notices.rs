//! What a person should know of a request: what was cut, what was assumed, and
//! whether the server read all of it.

use recto_context::{
    DropReason, ObservationOutcome, Part, PartReason, RequestContext, Tokens, WindowSource,
};
use recto_llm::{FinishReason, TokenUsage};

use super::TurnRun;
use super::inputs::PendingNotices;

impl TurnRun<'_> {
    /// Tells what was found wrong when the turn was gathered: what somebody was told
    /// before is not told again.
    pub(super) fn tell_notices(&mut self) {
        let Some(mut notices) = self.inputs.notices.take() else { return };
        if self.listeners.is_anybody_there() {
            self.shared.leave_out_told(&mut notices);
        }
        let PendingNotices { of_catalog, of_memories, of_message } = notices;
        for text in of_catalog.into_iter().chain(of_memories).chain(of_message) {
            self.notify(text);
        }
    }

    /// Tells of a search that had to do without vectors, once a turn.
    pub(super) fn tell_of_search(&self) {
        let how = self.state.found().how.as_ref().filter(|_| self.requests == 1);
        if let Some(how) = how.filter(|how| self.shared.searcher.should_tell(how)) {
            self.notify(format!("items were searched {how}"));
        }
    }

    /// Tells of what had to leave since the last request, and of a window that
    /// nobody knows.
    pub(super) fn tell_of_cuts(&self, request: &RequestContext) {
        let trims = self.previous.as_ref().map_or(0, |previous| previous.carry.trims);
        if request.carry.trims > trims
            && let Some(text) = describe_cuts(request)
        {
            self.notify(text);
        }
        let assumed = |request: &RequestContext| request.window.source == WindowSource::Assumed;
        let was_told =
            |previous: &RequestContext| assumed(previous) && previous.model == request.model;
        if assumed(request) && !self.previous.as_ref().is_some_and(was_told) {
            let name = &self.entry().name;
            let tokens = request.window.tokens;
            self.notify(format!(
                "the window of model `{name}` is unknown; {tokens} tokens are assumed \
                 (set `window` in [models.{name}])"
            ));
        }
    }

    /// Tells of a reply that ended before the model was done.
    pub(super) fn tell_of_finish(&self, finish: &FinishReason) {
        let text = match finish {
            FinishReason::Length => format!(
                "the reply was cut off at its limit of {} tokens (max_output_tokens, or the \
                 server's own)",
                self.entry().limits.reply
            ),
            FinishReason::Filtered => "the provider withheld the rest of the reply".to_owned(),
            FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other(_) => return,
        };
        self.notify(text);
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
                self.notify(format!(
                    "the server counted {counted} tokens in a prompt of about {}: it seems to \
                     have cut the prompt, so the model may not have seen all of it",
                    request.prompt_tokens()
                ));
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

fn describe_cuts(request: &RequestContext) -> Option<String> {
    let cuts: Vec<String> = request
        .dropped
        .iter()
        .filter(|dropped| {
            matches!(
                dropped.reason,
                DropReason::HistoryMessages { .. }
                    | DropReason::HistoryTokens { .. }
                    | DropReason::NoRoom
                    | DropReason::Shortened
            )
        })
        .map(|dropped| {
            format!("{} ({} tokens: {})", dropped.what, dropped.before, dropped.reason.describe())
        })
        .collect();
    let is_summary = |part: &Part| matches!(part.reason, PartReason::Summary { .. });
    let instead = match request.parts.iter().any(is_summary) {
        true => "; a summary stands for what has left (`recto sessions expand` undoes it)",
        false => "",
    };
    (!cuts.is_empty()).then(|| format!("left out of the request: {}{instead}", cuts.join("; ")))
}
