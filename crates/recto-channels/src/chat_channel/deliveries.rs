//! Delivers what is to be said: replies of turns once there are some, and words that are known.

use std::time::Duration;

use recto_agent::Actor;
use recto_store::{ChannelDelivery, DeliveryEnding, Moment, StoreError, StoreResult};
use tokio::time::sleep;

use super::ChatChannel;
use super::posted_messages::{PostEffort, PostFailure, PostedMessages};
use super::turn_watch::TurnWatch;
use crate::content::DeliveryContent;
use crate::service::ChatService;

/// The pause after which something is tried again that the store did not take.
const STORE_PAUSE: Duration = Duration::from_secs(1);

impl<S: ChatService> ChatChannel<S> {
    /// Delivers something, until it is done or can't be.
    pub(super) async fn deliver(&self, delivery: ChannelDelivery) {
        while let Err(error) = self.try_deliver(&delivery).await {
            // It is found again at the next start.
            if self.host.is_ending() {
                return;
            }
            tracing::warn!(channel = S::CHANNEL, %error, "a reply waits");
            sleep(STORE_PAUSE).await;
        }
        if !self.host.is_ending() {
            self.queued.lock().remove(&delivery.id);
        }
    }

    async fn try_deliver(&self, delivery: &ChannelDelivery) -> StoreResult<()> {
        let store = &self.host.store;
        // As it is now: it may have been delivered, or be about to say something else.
        let now = store.find_delivery(&self.account, &delivery.key).await?;
        let Some(now) = now.filter(|delivery| !delivery.is_ended) else { return Ok(()) };
        let said = now.content.clone();
        let Some(mut posted) = PostedMessages::new(self, now) else {
            self.log_once("", "a reply of another version of Recto can't be read; it is left out");
            let ending = DeliveryEnding::Refused("it can't be read".to_owned());
            return store.end_delivery(delivery.id, said.as_ref(), ending, Moment::now()).await;
        };
        match self.say_in_full(&mut posted).await {
            Ok(()) => Ok(()),
            Err(PostFailure::Store(error)) => Err(error),
            Err(failure) => self.give_up(&posted, &failure).await,
        }
    }

    /// Says what a delivery is to say, which for a turn's reply comes at the turn's end.
    async fn say_in_full(&self, posted: &mut PostedMessages<'_, S>) -> Result<(), PostFailure> {
        let known = posted.delivery.content.as_ref().and_then(DeliveryContent::from_store);
        let content = match (known, posted.delivery.turn) {
            (Some(content), _) => content,
            (None, None) => return Err(PostFailure::Refused("it says nothing".to_owned())),
            (None, Some(_)) => match self.watch_turn(posted).await? {
                // Whoever was to read it has been put out meanwhile.
                Some(_) if self.is_withdrawn(&posted.delivery).await? => return Ok(()),
                Some(content) => {
                    let (store, id) = (&self.host.store, posted.delivery.id);
                    store.set_delivery_content(id, &content.to_store()).await?;
                    content
                }
                // The program ends; the next one goes on.
                None => return Ok(()),
            },
        };
        posted.show(&content, PostEffort::UntilDone).await?;
        let (store, id, said) = (&self.host.store, posted.delivery.id, content.to_store());
        Ok(store.end_delivery(id, Some(&said), DeliveryEnding::Delivered, Moment::now()).await?)
    }

    async fn is_withdrawn(&self, delivery: &ChannelDelivery) -> StoreResult<bool> {
        let now = self.host.store.find_delivery(&self.account, &delivery.key).await?;
        Ok(now.is_none_or(|delivery| delivery.is_ended))
    }

    /// Ends a delivery that the service does not take. The rest goes on.
    async fn give_up(
        &self,
        posted: &PostedMessages<'_, S>,
        failure: &PostFailure,
    ) -> StoreResult<()> {
        self.log_once(&posted.target.chat, &format!("nothing can be said there: {failure}"));
        let store = &self.host.store;
        let now = store.find_delivery(&self.account, &posted.delivery.key).await?;
        let said = now.and_then(|delivery| delivery.content);
        let ending = DeliveryEnding::Refused(failure.to_string());
        store.end_delivery(posted.delivery.id, said.as_ref(), ending, Moment::now()).await
    }

    /// Watches the turn of a delivery until it is over. Nothing where the program ends first.
    async fn watch_turn(
        &self,
        posted: &mut PostedMessages<'_, S>,
    ) -> Result<Option<DeliveryContent>, PostFailure> {
        let Some((turn, agent)) = self.turn_of(&posted.delivery).await? else {
            return Ok(Some(DeliveryContent::deleted_conversation()));
        };
        let watch = TurnWatch { channel: self, agent, actor: Actor::from_store(&turn.actor), turn };
        watch.run(posted).await
    }

    async fn turn_of(
        &self,
        delivery: &ChannelDelivery,
    ) -> Result<Option<(recto_store::StoredTurn, &recto_agent::Agent)>, StoreError> {
        let Some(turn) = delivery.turn else { return Ok(None) };
        let Some(turn) = self.host.store.turn(turn).await? else { return Ok(None) };
        let agent = self.host.agent_of(turn.session).await?;
        Ok(agent.map(|agent| (turn, agent)))
    }
}
