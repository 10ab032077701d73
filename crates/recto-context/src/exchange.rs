//! Exchanges: a user message and all that follows until the next one.
//!
//! History is trimmed in whole exchanges, so a call is never parted from its
//! result. What comes in already broken (a crash, a hand-edited file, another
//! program's history) is mended here by leaving out the half that is alone:
//! servers refuse a request with one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::context::{DropReason, DroppedEntry};
use crate::counter::TokenCounter;
use crate::layer::Layer;
use crate::message::{CallId, ContentPart, Message, MessageBody};
use crate::tokens::Tokens;

/// Splits messages into exchanges, oldest first. Messages before the first user
/// message form an exchange of their own.
pub(crate) fn exchanges(messages: &[Arc<Message>]) -> impl Iterator<Item = &[Arc<Message>]> {
    messages.chunk_by(|_, next| !next.is_user())
}

/// An exchange without its rounds: the question, and the answer if there is one.
pub(crate) fn condense(exchange: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let questions = exchange.iter().filter(|message| message.is_user());
    let answer = exchange.last().filter(|last| is_reply(last));
    questions.chain(answer).cloned().collect()
}

fn is_reply(message: &Message) -> bool {
    matches!(&message.body, MessageBody::Assistant { calls, .. } if calls.is_empty())
}

/// The messages that a model may see, every call with its result and every
/// result with its call. What had to go is added to `dropped`.
pub(crate) fn mend_rounds(
    messages: &[Arc<Message>],
    layer: Layer,
    counter: &TokenCounter<'_>,
    dropped: &mut Vec<DroppedEntry>,
) -> Vec<Arc<Message>> {
    let mended = Vec::with_capacity(messages.len());
    let mut mender = Mender { layer, counter, dropped, mended };
    let visible: Vec<_> = messages.iter().filter(|message| message.is_for_models()).collect();
    for round in visible.chunk_by(|_, next| next.answered_call().is_some()) {
        mender.mend_round(round);
    }
    mender.mended
}

struct Mender<'a> {
    layer: Layer,
    counter: &'a TokenCounter<'a>,
    dropped: &'a mut Vec<DroppedEntry>,
    mended: Vec<Arc<Message>>,
}

impl Mender<'_> {
    /// Takes a message and the results behind it: each call answered once, the
    /// answers in the order of the calls, since some wires match by that alone.
    fn mend_round(&mut self, round: &[&Arc<Message>]) {
        let [first, results @ ..] = round else { return };
        if first.answered_call().is_some() {
            round.iter().for_each(|result| self.drop_result(result));
            return;
        }
        let calls = first.calls();
        let mut open: HashMap<&CallId, VecDeque<usize>> = HashMap::new();
        for (at, call) in calls.iter().enumerate() {
            open.entry(&call.id).or_default().push_back(at);
        }
        let mut answers: Vec<Option<Arc<Message>>> = vec![None; calls.len()];
        for &result in results {
            let call = result.answered_call().and_then(|call| open.get_mut(call)?.pop_front());
            match call {
                Some(at) => answers[at] = Some(Arc::clone(result)),
                None => self.drop_result(result),
            }
        }
        if answers.iter().all(Option::is_some) {
            self.mended.push(Arc::clone(first));
        } else {
            self.keep_answered_calls(first, &answers);
        }
        self.mended.extend(answers.into_iter().flatten());
    }

    fn drop_result(&mut self, result: &Message) {
        let what = format!("result in message {}", result.id.0);
        self.drop(what, self.counter.message(result, self.layer), DropReason::ResultWithoutCall);
    }

    /// Keeps a message without the calls that nothing answered, if anything is
    /// left of it.
    fn keep_answered_calls(&mut self, message: &Message, answers: &[Option<Arc<Message>>]) {
        let MessageBody::Assistant { content, calls } = &message.body else { return };
        let answered = calls.iter().zip(answers).filter(|(_, answer)| answer.is_some());
        let calls = answered.map(|(call, _)| call.clone()).collect();
        let body = MessageBody::Assistant { content: content.clone(), calls };
        let rest = Message { id: message.id, body };
        let cost = |message: &Message| self.counter.message(message, self.layer);
        let freed = cost(message) - cost(&rest);
        let what = format!("call in message {}", message.id.0);
        self.drop(what, freed, DropReason::CallWithoutResult);
        let is_blank = |part: &ContentPart| part.as_text().is_some_and(|text| text.is_empty());
        if !rest.calls().is_empty() || !rest.content().iter().all(is_blank) {
            self.mended.push(Arc::new(rest));
        }
    }

    fn drop(&mut self, what: String, tokens: Tokens, reason: DropReason) {
        self.dropped.push(DroppedEntry::whole(what, self.layer, tokens, reason));
    }
}
