//! How much room a request leaves for what a tool brings.

use crate::compose::shorten;
use crate::context::RequestContext;
use crate::counter::TokenCounter;
use crate::layer::Layer;
use crate::page::PartContent;
use crate::tokens::Tokens;

impl RequestContext {
    /// What the next round may cost, its call and its results together, so that
    /// the request behind it still fits. A round is never cut once it is the
    /// newest: what does not fit must be shortened before.
    ///
    /// It is half of what would be free without the history and with this turn's
    /// older results shortened: so one large result does not empty the history,
    /// and the rounds behind it have room, too. Everything is counted as `counter`
    /// counts now, which may have learned since the request was made.
    pub fn room_for_round(&self, counter: &TokenCounter<'_>) -> Tokens {
        let (profile, messages) = self.profile();
        let now = counter.profile(&profile.with_messages(messages));
        let all = self.budget.messages + self.budget.tools;
        let gives = self.saved_by_shortening(counter) + self.history_tokens(counter);
        Tokens::new((all + gives - now).get() / 2)
    }

    fn history_tokens(&self, counter: &TokenCounter<'_>) -> Tokens {
        let history = self.layer(Layer::History);
        history.map(|part| counter.profile(&part.profile()) + counter.per_message()).sum()
    }

    /// What the results of this turn cost beyond their shortened forms.
    fn saved_by_shortening(&self, counter: &TokenCounter<'_>) -> Tokens {
        let cost = |message: &_| counter.message(message, Layer::Rounds);
        let saved = self.layer(Layer::Rounds).filter_map(|part| match &part.content {
            PartContent::Message(message) => {
                shorten(message).map(|short| cost(message) - cost(&short))
            }
            PartContent::Text(_) => None,
        });
        saved.sum()
    }
}
