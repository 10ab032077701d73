//! Each message with candidates: all items of its set, and random few of them, with and
//! without one that fits. An agent may have two rules or two thousand, and the same
//! weights serve both.

use recto_context::ItemId;
use recto_search::{
    Embedding, ITEM, ItemGroup, RankSignals, RivalEvidence, SearchIndex, SearchMessage,
};
use std::collections::{HashMap, HashSet};

use super::correct::FittedCorrections;
use super::sets::LabelledSet;
use super::vectors::FitVectors;
use super::weigh::{FittedDirections, GROUPS, order_of};
use crate::Result;

/// The numbers of candidates beside all of them.
pub(super) const FEW: [usize; 4] = [2, 5, 20, 100];

/// The same for a part of somebody's workspace, which is small itself.
const FEW_OF_WORLD: [usize; 1] = [5];

/// A message with candidates.
pub(super) struct CandidateList {
    pub(super) set: usize,
    pub(super) message: usize,
    /// How many candidates were drawn; 0 where all are there.
    pub(super) few: usize,
    pub(super) signals: RankSignals,
    /// Which of the candidates fit.
    pub(super) fits: Vec<bool>,
    /// Which of those only help.
    pub(super) helps: Vec<bool>,
    /// Whether the message asks for anything at all.
    pub(super) asks: bool,
    /// Which of them are known not to, though they look like it.
    pub(super) near_misses: Vec<bool>,
    /// How much the message is like a request, and like those that need something of this
    /// group, by directions that were found without it.
    pub(super) request: f32,
    pub(super) need: f32,
    /// What all groups reach that are looked at together, by words alone and with cosines.
    pub(super) rivals: [RivalEvidence; 2],
}

impl CandidateList {
    pub(super) fn has_fitting(&self) -> bool {
        self.fits.contains(&true)
    }

    /// Whether its message is one with near misses.
    pub(super) fn is_near_miss(&self) -> bool {
        self.near_misses.contains(&true)
    }
}

/// All lists of a set.
pub(super) fn candidate_lists(
    number: usize,
    set: &LabelledSet,
    requests: &FittedDirections,
    corrections: &FittedCorrections,
    vectors: &mut FitVectors,
) -> Result<Vec<CandidateList>> {
    let mut index = SearchIndex::default();
    index.correct_by(corrections.without(set.world));
    index.update(set.entries.clone());
    vectors.supply(&set.name, &mut index);
    let ids: Vec<&ItemId> = set.entries.iter().map(|entry| &entry.item).collect();
    let mut chance = ListRandom(number as u64 + 1);
    let mut lists = Vec::new();
    for (place, message) in set.messages.iter().enumerate() {
        let searched = SearchMessage::new(&message.text, message.before.as_deref());
        let embeddings: Vec<Embedding> =
            searched.texts().map(|text| vectors.message(text)).collect();
        let query = searched.query(&embeddings);
        let mut add = |few: usize, chosen: Option<&HashSet<&ItemId>>| {
            let is_candidate = |id: &ItemId| chosen.is_none_or(|chosen| chosen.contains(id));
            let (items, signals) = index.signals(&query, is_candidate);
            let fits: Vec<bool> = items.iter().map(|id| message.fits.contains(id)).collect();
            let helps = items.iter().map(|id| message.helps.contains(id)).collect();
            let asks = message.asks;
            let near_misses = items.iter().map(|id| message.near_misses.contains(id)).collect();
            let request = requests.request.held_out(&message.text);
            let need = requests.need(set.group).held_out(&message.text);
            lists.push(CandidateList {
                set: number,
                message: place,
                few,
                signals,
                fits,
                helps,
                asks,
                near_misses,
                request,
                need,
                rivals: Default::default(),
            });
        };
        add(0, None);
        if !message.near_misses.is_empty() {
            continue;
        }
        let fitting: Vec<&ItemId> =
            ids.iter().copied().filter(|id| message.fits.contains(*id)).collect();
        let few_of = if set.world.is_some() { &FEW_OF_WORLD[..] } else { &FEW[..] };
        for few in few_of.iter().copied().filter(|few| *few < ids.len()) {
            let mut chosen = HashSet::new();
            while chosen.len() < few {
                let id = ids[chance.below(ids.len())];
                if !message.fits.contains(id) {
                    chosen.insert(id);
                }
            }
            add(few, Some(&chosen));
            if let Some(one) = fitting.get(chance.below(fitting.len().max(1))) {
                let out = chosen.iter().copied().min();
                out.map(|out| chosen.remove(out));
                chosen.insert(*one);
                add(few, Some(&chosen));
            }
        }
    }
    Ok(lists)
}

/// Tells each list what all groups of its workspace reach for its message, by the order that they
/// have. Memories are compared with each other alone, because a turn looks for them elsewhere;
/// where only some candidates were drawn, they are all that there is.
pub(super) fn compare_groups(
    sets: &[LabelledSet],
    lists: &mut [CandidateList],
    orders: &[[[f32; ITEM]; 2]],
) {
    for is_dense in [false, true] {
        let own = |list: &CandidateList| {
            let group = sets[list.set].group;
            let place = GROUPS.iter().position(|of| *of == group).unwrap_or(0);
            let order = order_of(group, &orders[place][usize::from(is_dense)]);
            list.signals.rivals(&list.signals.fused(&order))
        };
        let together = |list: &CandidateList| {
            let world = sets[list.set].world.filter(|_| list.few == 0);
            let world = world.filter(|_| sets[list.set].group != ItemGroup::Memories);
            world.map(|world| (world, list.message))
        };
        let of_lists: Vec<RivalEvidence> = lists.iter().map(own).collect();
        let mut of_messages: HashMap<(usize, usize), Vec<&RivalEvidence>> = HashMap::new();
        for (list, own) in lists.iter().zip(&of_lists) {
            if let Some(message) = together(list) {
                of_messages.entry(message).or_default().push(own);
            }
        }
        for (list, own) in lists.iter_mut().zip(&of_lists) {
            let all = together(list).and_then(|message| of_messages.get(&message));
            list.rivals[usize::from(is_dense)] = match all {
                Some(all) => RivalEvidence::join(all.iter().copied()),
                None => own.clone(),
            };
        }
    }
}

/// Numbers that look random and are the same in every run.
struct ListRandom(u64);

impl ListRandom {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}
