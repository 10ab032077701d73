//! How much room a request leaves for what a tool brings.

use crate::compose::shorten;
use crate::context::RequestContext;
use crate::counter::Counter;
use crate::layer::Layer;
use crate::page::Content;
use crate::tokens::Tokens;

impl RequestContext {
    /// What the next round may cost, its call and its results together, so that
    /// the request behind it still fits. A round is never cut once it is the
    /// newest: what does not fit must be shortened before.
    ///
    /// All that this turn's older results can still give counts as room, and of
    /// the history as much as leaves half of what there is: one large result
    /// should not empty it. Everything is counted as `counter` counts now, which
    /// may have learned since the request was made.
    pub fn room_for_round(&self, counter: &Counter<'_>) -> Tokens {
        let (profile, messages) = self.profile();
        let now = counter.profile(&profile.with_messages(messages));
        let all = self.budget.messages + self.budget.tools;
        let free = all - now + self.saved_by_shortening(counter);
        let most = free + self.history_tokens(counter);
        free.max(Tokens::new(most.get() / 2))
    }

    fn history_tokens(&self, counter: &Counter<'_>) -> Tokens {
        let history = self.layer(Layer::History);
        history.map(|part| counter.profile(&part.profile()) + counter.per_message()).sum()
    }

    /// What the results of this turn cost beyond their shortened forms.
    fn saved_by_shortening(&self, counter: &Counter<'_>) -> Tokens {
        let cost = |message: &_| counter.message(message, Layer::Rounds);
        let saved = self.layer(Layer::Rounds).filter_map(|part| match &part.content {
            Content::Message(message) => shorten(message).map(|short| cost(message) - cost(&short)),
            Content::Text(_) => None,
        });
        saved.sum()
    }
}
