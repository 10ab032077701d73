//! Chooses what of a conversation a summary holds, within its room.
//!
//! Decisions and open questions come first, up to a share of the room. Then every fact is
//! put on a list, where it is cheapest; if not even the lists fit, the facts that matter
//! most for their tokens. What room is left makes sentences of the lists again: greedily,
//! by what a sentence is worth for what it costs beyond the entries that it replaces.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::material::{SLIGHT, Statement, SummaryMaterial, WEIGHTY};
use super::render::{PARTED, entry, statement_lead};
use crate::counter::TokenCounter;
use crate::tokens::TextProfile;

/// The share of the room, in percent, that decisions and open questions may take before
/// the facts have theirs.
const SHARE: u64 = 50;

/// Costs are counted in this part of a token, because a rounded-up token for each of
/// hundreds of small entries would waste a good part of the room.
pub(super) const PART: u64 = 16;

/// What a summary holds, as places in the [`SummaryMaterial`], in their order.
#[derive(Debug, Default)]
pub(super) struct SummaryChoice {
    pub(super) statements: Vec<usize>,
    /// Facts that no chosen statement has.
    pub(super) listed: Vec<usize>,
    /// Whether there was room for everything.
    pub(super) is_all: bool,
}

/// What things cost, computed once.
pub(super) struct SummaryCosts {
    statements: Vec<u64>,
    entries: Vec<u64>,
}

impl SummaryCosts {
    pub(super) fn from_material(material: &SummaryMaterial, counter: &TokenCounter<'_>) -> Self {
        let of_statement = |statement: &Statement| {
            part_cost(counter, &format!("\n{}{}", statement_lead(statement), statement.text))
        };
        let statements = material.statements.iter().map(of_statement).collect();
        let of_entry = |text: String| part_cost(counter, &text);
        let texts = material
            .facts
            .iter()
            .map(|known| format!("{}{PARTED}", entry(known.fact.kind, &known.fact.text)));
        SummaryCosts { statements, entries: texts.map(of_entry).collect() }
    }
}

/// What a text costs, in parts of a token.
pub(super) fn part_cost(counter: &TokenCounter<'_>, text: &str) -> u64 {
    let once = TextProfile::from_text(text);
    let twice = once + once;
    let four = twice + twice;
    let eight = four + four;
    u64::from(counter.profile(&(eight + eight)).get())
}

/// The best choice for a room in parts of a token.
pub(super) fn choose(material: &SummaryMaterial, costs: &SummaryCosts, room: u64) -> SummaryChoice {
    let mut chooser = SummaryChooser {
        material,
        costs,
        chosen: vec![false; material.statements.len()],
        covered: HashSet::new(),
        listed: HashSet::new(),
        left: room,
    };
    chooser.take_weighty(room * SHARE / 100);
    chooser.list(|weight| weight >= SLIGHT);
    chooser.make_sentences();
    chooser.list(|weight| weight < SLIGHT);
    chooser.choice()
}

struct SummaryChooser<'a> {
    material: &'a SummaryMaterial,
    costs: &'a SummaryCosts,
    chosen: Vec<bool>,
    /// Facts that chosen statements have.
    covered: HashSet<usize>,
    /// Facts on the lists.
    listed: HashSet<usize>,
    left: u64,
}

/// A statement in the queue: what it is worth for its cost, its place, and its cost. The worth is
/// the bits of a positive number, which are in the same order; of equals, what was said earlier is
/// greater.
type RatedStatement = (u32, Reverse<usize>, u64);

impl SummaryChooser<'_> {
    /// Decisions and open questions, the best for their cost first.
    fn take_weighty(&mut self, most: u64) {
        let statements = self.material.statements.iter().enumerate();
        let weighty = statements.filter(|(_, statement)| statement.worth >= WEIGHTY);
        let rated = weighty.map(|(at, statement)| {
            let facts = statement.facts.len() as f32 * statement.per_fact;
            (at, (statement.worth + facts) / self.costs.statements[at] as f32)
        });
        let mut spent = 0;
        for at in best_first(rated) {
            let cost = self.costs.statements[at];
            if spent + cost <= most && cost <= self.left {
                spent += cost;
                self.take(at, cost);
            }
        }
    }

    /// Puts facts on the lists that no chosen statement has, those first that matter most
    /// for their cost.
    fn list(&mut self, is_meant: impl Fn(f32) -> bool) {
        let facts = self.material.facts.iter().enumerate();
        let open = facts.filter(|(at, known)| is_meant(known.weight) && !self.covered.contains(at));
        let rated = open.map(|(at, known)| (at, known.weight / self.costs.entries[at] as f32));
        for at in best_first(rated) {
            let cost = self.costs.entries[at];
            if cost <= self.left {
                self.left -= cost;
                self.listed.insert(at);
            }
        }
    }

    /// Replaces entries of the lists by the sentences that they stand in.
    ///
    /// With each sentence taken, the others can only become worth less for what they cost.
    /// So the best is found when the first of the queue, rated again, is still the first.
    fn make_sentences(&mut self) {
        let open = (0..self.chosen.len()).filter(|at| !self.chosen[*at]);
        let mut queue: BinaryHeap<RatedStatement> = open.filter_map(|at| self.rate(at)).collect();
        while let Some((_, Reverse(at), _)) = queue.pop() {
            let Some(again) = self.rate(at) else { continue };
            if queue.peek().is_some_and(|next| again < *next) {
                queue.push(again);
            } else {
                self.take(at, again.2);
            }
        }
    }

    /// What a statement is worth for its cost now; `None` if it can't be had any more.
    fn rate(&self, at: usize) -> Option<RatedStatement> {
        let (net, worth) = self.net(at);
        let rate = worth / net.max(PART) as f32;
        (worth > 0.0 && net <= self.left).then_some((rate.to_bits(), Reverse(at), net))
    }

    /// What a statement costs beyond the entries that it replaces, and what it brings.
    fn net(&self, at: usize) -> (u64, f32) {
        let statement = &self.material.statements[at];
        let new = statement.facts.iter().filter(|fact| !self.covered.contains(fact));
        let (mut replaced, mut worth) = (0, statement.worth);
        for fact in new {
            worth += statement.per_fact;
            if self.listed.contains(fact) {
                replaced += self.costs.entries[*fact];
            }
        }
        (self.costs.statements[at].saturating_sub(replaced), worth)
    }

    fn take(&mut self, at: usize, cost: u64) {
        self.chosen[at] = true;
        self.left -= cost;
        for fact in &self.material.statements[at].facts {
            self.covered.insert(*fact);
            self.listed.remove(fact);
        }
    }

    fn choice(&self) -> SummaryChoice {
        let statements: Vec<usize> = (0..self.chosen.len()).filter(|at| self.chosen[*at]).collect();
        let mut listed: Vec<usize> = self.listed.iter().copied().collect();
        listed.sort_unstable();
        let is_all = self.chosen.iter().all(|chosen| *chosen);
        SummaryChoice { statements, listed, is_all }
    }
}

/// The places of what is rated: the best first, and of equals the earliest.
fn best_first(rated: impl Iterator<Item = (usize, f32)>) -> Vec<usize> {
    let mut rated: Vec<(usize, f32)> = rated.collect();
    rated.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    rated.into_iter().map(|(at, _)| at).collect()
}
