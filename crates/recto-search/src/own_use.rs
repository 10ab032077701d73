//! What a person used before in messages like the one at hand: evidence for an item that its own
//! text does not give.
//!
//! It only ever raises a probability, by a factor on its odds: a like message says more for an item
//! that may fit by its own text than for one that hardly can. What has no earlier use stays exactly
//! where it was. Being found by search is no use: whoever records uses counts what was called, read
//! or added by hand.
//!
//! The numbers below are round ones, looked at on messages that ask again what another one of the
//! same world asked, and on those that don't (`sets/worlds`); docs/search.md has the figures.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use recto_context::mode::words::names_nothing;
use recto_context::{CivilDay, EarlierUse, ItemId, ItemKind, Pick};

use crate::entry::SearchEntry;
use crate::lexical;
use crate::message::{SearchMessage, naming_words};
use crate::variants::NameWords;

/// What the share of words that two messages have in common adds to their cosine.
const WORDS: f32 = 0.5;

/// Likenesses up to which two messages want different things, and from which on the same.
const APART: f32 = 0.7;
const ALIKE: f32 = 1.0;

/// The same where there are no vectors, and words alone tell.
const APART_BY_WORDS: f32 = 0.4;
const ALIKE_BY_WORDS: f32 = 0.8;

/// What one message that wants the same adds to the logarithm of an item's odds, and the most that
/// several add: a habit is strong evidence, and still none that an item fits.
const ONE: f32 = 4.0;
const MOST: f32 = 7.0;

/// The least that counts, and is told of.
const LEAST: f32 = 0.2;

/// The least probability that is reckoned with: an item for which nothing at all speaks has one.
const HARDLY: f32 = 1e-4;

/// How much of a message is compared. What is longer was pasted, and its beginning says what it is.
const COMPARED: usize = 500;

/// A message of before, with what was used for it.
#[derive(Debug, Clone, PartialEq)]
pub struct PastUse {
    /// The turn that answered it, counted over all sessions.
    pub turn: i64,
    /// The day on which it was sent, where the person was.
    pub day: CivilDay,
    /// The beginning of what it says.
    pub text: String,
    /// What was used for it.
    pub items: Vec<ItemId>,
    words: MessageWords,
}

/// The different words of a message, stemmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageWords {
    all: HashSet<String>,
    /// Those of them that name something, whether they are written as names or not.
    naming: HashSet<String>,
}

impl MessageWords {
    /// Reads the words of a text.
    pub fn new(text: &str) -> MessageWords {
        MessageWords {
            all: lexical::words(text).into_iter().collect(),
            naming: naming_words(text).flat_map(lexical::words).collect(),
        }
    }
}

impl PastUse {
    /// The uses for a message; nothing where it can't stand by itself: what it asks for is not in
    /// its words.
    pub fn new(
        turn: i64,
        day: CivilDay,
        message: &SearchMessage,
        items: Vec<ItemId>,
    ) -> Option<PastUse> {
        let whole = message.whole();
        let text = whole[..whole.floor_char_boundary(COMPARED)].trim().to_owned();
        let words = MessageWords::new(&text);
        let asks = asks_by_itself(message) && !words.all.is_empty();
        asks.then_some(PastUse { turn, day, text, items, words })
    }

    /// The message as an index has it, named by its turn.
    pub fn entry(&self) -> SearchEntry {
        SearchEntry {
            item: self.id(),
            description: None,
            text: self.text.as_str().into(),
            thread: None,
            when: None,
        }
    }

    /// The name under which an index has it.
    pub fn id(&self) -> ItemId {
        ItemId::new(ItemKind::Memory, self.turn.to_string())
    }

    /// How alike it is to a message by their words: the share that they have in common.
    pub fn word_likeness(&self, other: &MessageWords) -> f32 {
        let shared = self.words.all.intersection(&other.all).count();
        let all = self.words.all.len() + other.all.len();
        if all == 0 { 0.0 } else { 2.0 * shared as f32 / all as f32 }
    }

    /// Whether an item was used for it because of a name that a message lacks, which names
    /// something else: `deposit-france` was wanted for France, and that says nothing for Portugal.
    /// What the item itself does not name may differ: `mail.send` is wanted for Anna and for Ben.
    fn names_otherwise(&self, item: &ItemId, message: &MessageWords) -> bool {
        let of_item = NameWords::new(item);
        let is_missing = |word: &String| of_item.has(word) && !message.all.contains(word);
        let is_other = |word: &String| !of_item.has(word) && !self.words.all.contains(word);
        self.words.naming.iter().any(is_missing) && message.naming.iter().any(is_other)
    }
}

/// Whether a message says by itself what it asks for, so that it can be like another one.
pub fn asks_by_itself(message: &SearchMessage) -> bool {
    !message.leans_on_before() && !names_nothing(message.whole())
}

/// How alike two messages are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageLikeness {
    /// The cosine of their embeddings, where there is an encoder.
    pub cosine: Option<f32>,
    /// The share of words that they have in common.
    pub words: f32,
}

impl MessageLikeness {
    /// What it says for the items of one message that they are wanted for the other, as a
    /// difference of the logarithm of odds.
    fn odds(self) -> f32 {
        let (likeness, apart, alike) = match self.cosine {
            Some(cosine) => (cosine + WORDS * self.words, APART, ALIKE),
            None => (self.words, APART_BY_WORDS, ALIKE_BY_WORDS),
        };
        ONE * ((likeness - apart) / (alike - apart)).clamp(0.0, 1.0)
    }
}

/// What earlier messages like one say for items.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UseEvidence {
    items: HashMap<ItemId, ItemEvidence>,
    /// The words of the message for which it is weighed.
    message: HashSet<String>,
}

/// What speaks for one item.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ItemEvidence {
    /// What it adds to the logarithm of its odds.
    odds: f32,
    messages: u32,
    turn: i64,
    day: CivilDay,
}

impl UseEvidence {
    /// Weighs earlier uses for a message, each with how alike its own message is to that one.
    pub fn weigh<'a>(
        message: &MessageWords,
        uses: impl IntoIterator<Item = (&'a PastUse, MessageLikeness)>,
    ) -> UseEvidence {
        let mut evidence = UseEvidence { items: HashMap::new(), message: message.all.clone() };
        for (past, likeness) in uses {
            let odds = likeness.odds();
            if odds < LEAST {
                continue;
            }
            let items = past.items.iter().filter(|item| !past.names_otherwise(item, message));
            items.for_each(|item| evidence.add(item, past, odds));
        }
        evidence
    }

    fn add(&mut self, item: &ItemId, past: &PastUse, odds: f32) {
        let PastUse { turn, day, .. } = *past;
        let nothing = ItemEvidence { odds: 0.0, messages: 0, turn, day };
        let known = self.items.entry(item.clone()).or_insert(nothing);
        known.odds = (known.odds + odds).min(MOST);
        known.messages += 1;
        if turn > known.turn {
            (known.turn, known.day) = (turn, day);
        }
    }

    /// Whether nothing speaks for anything.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Raises the probability of what was used, and says so with it. The order stays: what is
    /// taken is decided by probability, and what is taken without this is taken with it.
    pub fn raise(&self, ranked: &mut [Pick]) {
        if !ranked.iter().any(|pick| self.items.contains_key(&pick.item)) {
            return;
        }
        let names = ranked.iter().map(|pick| NameWords::new(&pick.item));
        let named: Vec<NameWords> = names.filter(|name| name.has_any(&self.message)).collect();
        for pick in ranked {
            let known = self.items.get(&pick.item).zip(pick.scores.probability);
            let known = known.filter(|_| !self.names_variant_of(&pick.item, &named));
            let Some((evidence, without)) = known else { continue };
            let ItemEvidence { odds, messages, turn, day } = *evidence;
            pick.scores.probability = Some(raised(without, odds));
            pick.scores.earlier_use = Some(EarlierUse { messages, turn, day, without });
        }
    }

    /// Whether the message names another item in place of this one: what was used for Spain may
    /// have been the rule on Portugal, and is none where there is one on Spain.
    fn names_variant_of(&self, item: &ItemId, named: &[NameWords]) -> bool {
        let name = NameWords::new(item);
        named.iter().any(|other| {
            let difference = name.difference(other);
            difference.is_some_and(|(own, others)| {
                self.message.contains(others) && !self.message.contains(own)
            })
        })
    }
}

/// A probability with so much more on the logarithm of its odds.
fn raised(probability: f32, odds: f32) -> f32 {
    let known = probability.clamp(HARDLY, 1.0 - HARDLY);
    let logit = (known / (1.0 - known)).ln() + odds;
    (1.0 / (1.0 + (-logit).exp())).max(probability)
}
