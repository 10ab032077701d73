//! Compaction: a summary that stands for messages which leave the page.
//!
//! [`extract_summary`] makes one without a model, from the sentences themselves. A model's own
//! summary is held against the originals by [`lost_facts`], and [`complete_summary`] adds
//! what it lost. All are pure; what becomes of the originals, and whether a summary is wanted
//! at all, is decided elsewhere.
//!
//! A line of a summary has one speaker, and no text within it can begin another: line
//! breaks of what is quoted become blanks.

mod choose;
mod cues;
mod facts;
mod lists;
mod material;
mod prompt;
mod render;
mod sentences;

use std::sync::Arc;

use crate::counter::TokenCounter;
use crate::layer::Layer;
use crate::message::Message;
use crate::text::Text;
use crate::tokens::Tokens;

use choose::{PART, SummaryCosts, choose, part_cost};
use material::{SLIGHT, Statement, SummaryMaterial, WEIGHTY, WeighedFact};

pub use facts::{Fact, FactKind, find_facts};
pub use prompt::summary_prompt;

/// How often the room is corrected by what a summary really costs.
const TRIES: usize = 6;

/// What a summary is made of.
#[derive(Debug, Clone, Copy)]
pub struct CompactionInput<'a> {
    /// The summary of what left earlier.
    pub before: Option<&'a str>,
    /// What leaves now, oldest first.
    pub messages: &'a [Arc<Message>],
    /// The most that the summary may cost.
    pub room: Tokens,
    /// How tokens are counted.
    pub counter: &'a TokenCounter<'a>,
}

impl CompactionInput<'_> {
    /// What the messages and the summary before them cost on the page.
    pub fn cost(&self) -> Tokens {
        let visible = self.messages.iter().filter(|message| message.is_for_models());
        let messages = visible.map(|message| {
            self.counter.per_message() + self.counter.message(message, Layer::History)
        });
        let before = self.before.map(|before| self.counter.text(&Text::new(before)));
        messages.chain(before).sum()
    }

    /// The text, if it fits the room and is smaller than what it stands for.
    fn checked(&self, text: String) -> Option<String> {
        let text = Text::new(text);
        let cost = self.counter.text(&text);
        let fits = !text.is_empty() && cost <= self.room && cost < self.cost();
        fits.then(|| text.as_str().to_owned())
    }
}

/// The summary by extraction; `None` when nothing worth keeping fits, or when it would
/// not be smaller than what it stands for.
pub fn extract_summary(input: &CompactionInput<'_>) -> Option<String> {
    fill(input, &SummaryMaterial::from_compaction(input), "")
}

/// What the originals hold and a summary does not: facts as they are, decisions and open
/// questions as the sentences that state them.
pub fn lost_facts(input: &CompactionInput<'_>, summary: &str) -> Vec<Fact> {
    let missing = missing(SummaryMaterial::from_compaction(input), summary);
    let statements = missing.statements.into_iter().map(|statement| {
        let small = cues::small(&statement.text);
        let is_open = cues::is_open(&small) || cues::is_question(&small);
        let kind = if is_open { FactKind::Question } else { FactKind::Decision };
        Fact::new(kind, statement.text)
    });
    let details = missing.facts.into_iter().filter(|known| known.weight >= SLIGHT);
    details.map(|known| known.fact).chain(statements).collect()
}

/// A model's summary, completed by what it lost; `None` when it is not smaller then than
/// what it stands for. One that leaves no room is condensed like an earlier summary.
pub fn complete_summary(summary: &str, input: &CompactionInput<'_>) -> Option<String> {
    let summary = summary.trim();
    let cost = input.counter.text(&Text::new(summary));
    if cost > input.room {
        let before: Vec<&str> = input.before.into_iter().chain([summary]).collect();
        let before = before.join("\n");
        let filled = CompactionInput { before: Some(&before), ..*input };
        let text = fill(&filled, &SummaryMaterial::from_compaction(&filled), "")?;
        return input.checked(text);
    }
    let missing = missing(SummaryMaterial::from_compaction(input), summary);
    fill(input, &missing, summary)
}

/// Fills the room behind `head` with the best of the material.
fn fill(input: &CompactionInput<'_>, material: &SummaryMaterial, head: &str) -> Option<String> {
    let costs = SummaryCosts::from_material(material, input.counter);
    let most = u64::from(input.room.get().min(input.cost().get())) * PART;
    let mut room = most.saturating_sub(part_cost(input.counter, head));
    let mut best = input.checked(head.to_owned());
    // Lines that are joined cost less than they do one by one, and an exact count differs
    // from an estimate; so the room is moved by the difference, a few times.
    for _ in 0..TRIES {
        let choice = choose(material, &costs, room);
        let body = render::render(material, &choice);
        let parts = [head, body.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let text = parts.join("\n");
        let cost = u64::from(input.counter.text(&Text::new(text.as_str())).get()) * PART;
        let fitting = input.checked(text);
        let fits = fitting.is_some();
        if let Some(text) = fitting
            && best.as_ref().is_none_or(|best| best.len() < text.len())
        {
            best = Some(text);
        }
        if fits && (choice.is_all || cost + PART >= most) {
            break;
        }
        room = if fits {
            room + (most - cost)
        } else {
            room.saturating_sub(cost.saturating_sub(most) + PART)
        };
    }
    best
}

/// The part of the material that a summary does not have.
fn missing(mut material: SummaryMaterial, summary: &str) -> SummaryMaterial {
    let held = SummaryIndex::new(summary);
    material
        .statements
        .retain(|statement| statement.worth >= WEIGHTY && !held.has_statement(&statement.text));
    // Where each fact will stand, unless the summary has it.
    let mut next = 0..;
    let place = |known: &WeighedFact| if held.has(&known.fact) { None } else { next.next() };
    let places: Vec<Option<usize>> = material.facts.iter().map(place).collect();
    for Statement { facts, .. } in &mut material.statements {
        *facts = facts.iter().filter_map(|at| places[*at]).collect();
    }
    let mut stays = places.iter().map(Option::is_some);
    material.facts.retain(|_| stays.next().unwrap_or(true));
    material
}

/// What a summary has, for looking up.
struct SummaryIndex {
    small: String,
    lines: Vec<Vec<String>>,
}

impl SummaryIndex {
    fn new(summary: &str) -> Self {
        let small = cues::small(summary);
        let lines = small.lines().map(|line| stems(line).collect()).collect();
        SummaryIndex { small, lines }
    }

    /// Whether a detail is there, at least by the words or digits that make it one.
    fn has(&self, fact: &Fact) -> bool {
        let small = cues::small(&fact.text);
        let has = |text: &str| contains_whole(&self.small, text);
        let is_digits = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
        has(&small)
            || match fact.kind {
                FactKind::Name => small.split(' ').all(has),
                FactKind::Number => {
                    small.contains(|c: char| c.is_ascii_digit())
                        && small.split(' ').filter(is_digits).all(has)
                }
                _ => false,
            }
    }

    /// Whether one of its lines says about the same: most of the words that carry it.
    fn has_statement(&self, text: &str) -> bool {
        let stems: Vec<String> = stems(&cues::small(text)).collect();
        self.lines.iter().any(|line| {
            let found = stems.iter().filter(|stem| line.contains(stem)).count();
            found * 10 >= stems.len() * 6
        })
    }
}

/// The beginnings of the words that carry a sentence.
fn stems(small: &str) -> impl Iterator<Item = String> + '_ {
    let words = small.split(|c: char| !c.is_alphanumeric());
    let carries =
        |word: &&str| word.chars().count() >= 4 || word.contains(|c: char| c.is_ascii_digit());
    words.filter(carries).map(|word| word.chars().take(5).collect())
}

/// Whether a text stands in another, and not in the middle of a word or a number.
fn contains_whole(text: &str, part: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let (first, last) = (part.chars().next(), part.chars().next_back());
    first.is_some()
        && text.match_indices(part).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let behind = text[at + part.len()..].chars().next();
            let is_cut = (is_word(before) && is_word(first)) || (is_word(behind) && is_word(last));
            !is_cut
        })
}
