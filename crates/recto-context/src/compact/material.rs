//! What a summary can be made of: the statements of a conversation, each with what it is
//! worth, and the facts that they hold.
//!
//! What people say weighs more than what models do, and both more than results of
//! tools, of which only facts are kept. A short answer to a question is a decision,
//! whatever its words are, and so is a proposal that was agreed to.

mod turns;

use std::collections::{HashMap, HashSet};

use super::CompactionInput;
use super::cues;
use super::facts::{Fact, FactKind, KnownNames, details};
use super::sentences::clauses;
use crate::message::SpeakerName;
use turns::{SpokenTurn, turns};

/// The most words of a sentence that answers a question.
const ANSWER: usize = 12;

/// From this on, a statement is a decision or an open question.
pub(super) const WEIGHTY: f32 = 4.0;

/// Less than this has what only stands in results and calls of tools.
pub(super) const SLIGHT: f32 = 1.0;

/// Whose words a turn or a statement has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TurnSpeaker {
    /// An earlier summary, where it does not say who.
    Nobody,
    User,
    Assistant,
    /// A result or a call. Nothing of it is quoted.
    Tool,
}

/// A sentence or a clause of one.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) speaker: TurnSpeaker,
    /// The person's name, where several people talk.
    pub(super) name: Option<SpeakerName>,
    pub(super) text: String,
    /// Which sentence of the conversation it belongs to, and which clause of it it is.
    pub(super) place: (usize, usize),
    /// What it is worth beside its facts.
    pub(super) worth: f32,
    /// What each of its facts is worth within it.
    pub(super) per_fact: f32,
    /// Its facts, as places in [`SummaryMaterial::facts`].
    pub(super) facts: Vec<usize>,
}

/// A fact, and how much it matters.
#[derive(Debug)]
pub(super) struct WeighedFact {
    pub(super) fact: Fact,
    pub(super) weight: f32,
}

/// All that a summary can be made of, oldest first.
#[derive(Debug, Default)]
pub(super) struct SummaryMaterial {
    pub(super) statements: Vec<Statement>,
    pub(super) facts: Vec<WeighedFact>,
    by_key: HashMap<String, usize>,
    /// What was said so far: once is enough.
    said: HashSet<(TurnSpeaker, String)>,
}

impl SummaryMaterial {
    pub(super) fn from_compaction(compaction: &CompactionInput<'_>) -> Self {
        let turns = turns(compaction);
        let names = KnownNames::from_sentences(turns.iter().flat_map(SpokenTurn::all));
        let mut material = SummaryMaterial::default();
        let mut sentences = 0;
        for (at, turn) in turns.iter().enumerate() {
            for fact in &turn.listed {
                material.mention(fact.clone(), turn.speaker);
            }
            for place in 0..turn.sentences.len() {
                material.add_sentence(&turns, (at, place), sentences, &names);
                sentences += 1;
            }
        }
        material
    }

    /// Adds the statements and facts of one sentence of a turn.
    fn add_sentence(
        &mut self,
        turns: &[SpokenTurn],
        place: (usize, usize),
        number: usize,
        names: &KnownNames,
    ) {
        let turn = &turns[place.0];
        let sentence = &turn.sentences[place.1];
        let whole = worth(turns, place.0, place.1, &cues::small(sentence));
        for (part, clause) in clauses(sentence).into_iter().enumerate() {
            let found = details(&clause, names);
            let facts: Vec<usize> =
                found.into_iter().flat_map(|fact| self.mention(fact, turn.speaker)).collect();
            let small = cues::small(&clause);
            let is_said = turn.speaker != TurnSpeaker::Tool && !cues::is_chatter(&small);
            let worth = if clause.len() == sentence.len() {
                whole
            } else {
                whole.min(worth(turns, place.0, place.1, &small))
            };
            let is_worth_it = worth > 0.0 || !facts.is_empty();
            if is_said && is_worth_it && self.said.insert((turn.speaker, small)) {
                self.statements.push(Statement {
                    speaker: turn.speaker,
                    name: turn.name.clone(),
                    text: clause,
                    place: (number, part),
                    worth,
                    per_fact: per_fact(turn.speaker),
                    facts,
                });
            }
        }
    }

    /// Notes that a fact was mentioned; a long name mentions the short ones, too.
    fn mention(&mut self, fact: Fact, speaker: TurnSpeaker) -> Vec<usize> {
        let weight = match speaker {
            TurnSpeaker::User | TurnSpeaker::Nobody => 2.0,
            TurnSpeaker::Assistant => 1.4,
            TurnSpeaker::Tool => 0.3,
        };
        let key = fact.key();
        let words: Vec<usize> = match fact.kind {
            FactKind::Name => {
                key.split(' ').filter_map(|word| self.by_key.get(word)).copied().collect()
            }
            _ => Vec::new(),
        };
        let next = self.facts.len();
        let at = *self.by_key.entry(key).or_insert(next);
        if at == next {
            // A digit, a day or a month alone says little without its sentence.
            let is_bare = fact.kind == FactKind::Number
                && (fact.text.len() == 1 || fact.text.chars().all(char::is_alphabetic));
            let weight = if is_bare { weight * 0.4 } else { weight };
            self.facts.push(WeighedFact { fact, weight });
        } else {
            let known = &mut self.facts[at];
            known.weight = known.weight.max(weight) + 0.2;
            if known.fact.text.len() < fact.text.len() {
                known.fact = fact;
            }
        }
        let mut places = words;
        places.push(at);
        places.sort_unstable();
        places.dedup();
        places
    }
}

fn per_fact(speaker: TurnSpeaker) -> f32 {
    match speaker {
        TurnSpeaker::User | TurnSpeaker::Nobody => 0.8,
        TurnSpeaker::Assistant | TurnSpeaker::Tool => 0.5,
    }
}

/// What a sentence, or a clause of it, is worth beside its facts.
fn worth(turns: &[SpokenTurn], at: usize, place: usize, small: &str) -> f32 {
    let turn = &turns[at];
    let is_spoken = |turn: &&SpokenTurn| turn.speaker != TurnSpeaker::Tool;
    let before = || turns[..at].iter().rev().find(is_spoken);
    let behind = || turns[at + 1..].iter().find(is_spoken);
    match turn.speaker {
        TurnSpeaker::Tool => 0.0,
        TurnSpeaker::Nobody => 3.0,
        TurnSpeaker::User => user_worth(turn, before(), behind(), small),
        TurnSpeaker::Assistant => {
            let behind = behind();
            let agrees = |turn: &SpokenTurn| turn.speaker == TurnSpeaker::User && turn.agrees;
            if turn.proposed == Some(place) && behind.is_some_and(agrees) {
                WEIGHTY
            } else {
                assistant_worth(turn, behind, small)
            }
        }
    }
}

fn user_worth(
    turn: &SpokenTurn,
    before: Option<&SpokenTurn>,
    behind: Option<&SpokenTurn>,
    small: &str,
) -> f32 {
    let is_short = small.split(' ').count() <= ANSWER;
    let asks = |turn: &SpokenTurn| turn.speaker == TurnSpeaker::Assistant && turn.asks;
    // A short answer decides, and so does agreement that says to what: "ok leave it out".
    let is_answer = is_short && (before.is_some_and(asks) || cues::is_assent(small));
    if cues::is_chatter(small) {
        0.0
    } else if cues::is_question(small) {
        if turn.is_recalled { WEIGHTY } else { question_worth(behind, small) }
    } else if cues::is_open(small) || cues::is_decision(small) || is_answer {
        5.0
    } else if turn.is_recalled {
        3.0
    } else {
        1.5
    }
}

/// What a question is worth: it is open until it is answered, and still is when the answer is none.
fn question_worth(behind: Option<&SpokenTurn>, small: &str) -> f32 {
    let answers = |turn: &SpokenTurn| turn.speaker == TurnSpeaker::Assistant && !turn.hedges;
    if behind.is_some_and(answers) && !cues::is_open(small) { 1.0 } else { 4.5 }
}

/// What a model's sentence is worth. Without a fact, only what it undertook has to be kept.
fn assistant_worth(turn: &SpokenTurn, behind: Option<&SpokenTurn>, small: &str) -> f32 {
    if cues::is_question(small) {
        if behind.is_none() { 3.0 } else { 0.0 }
    } else if turn.is_recalled || cues::is_decision(small) {
        1.5
    } else {
        0.0
    }
}
