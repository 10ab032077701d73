//! What the decision reaches on worlds that it was not fitted on, and what it does to the order
//! of the public sets. The order, four numbers for each group, has seen all worlds.

use std::collections::HashMap;

use recto_search::{ITEM, ItemGroup};

use super::lists::CandidateList;
use super::sets::{LabelledSet, WORLDS};
use super::weigh::{
    FittedWeights, GROUPS, best_places, decide, item_values, measure_order, message_values,
    order_of,
};

/// The floor and the count of the preset `normal`.
const FLOOR: f32 = 0.4;
const TOP_N: usize = 5;

/// Behind what is picked, among how many of the next best an item counts as reached.
const LINES: usize = 12;

/// How many candidates of a group are looked at.
const TOP_K: usize = 20;

/// Prints what is reached in each world by weights found without it.
pub(super) fn print(sets: &[LabelledSet], lists: &[CandidateList], orders: &[[[f32; ITEM]; 2]]) {
    for is_dense in [true, false] {
        println!("{}", if is_dense { "with cosines" } else { "by words alone" });
        let mut total = WorldFigures::default();
        for (world, name) in WORLDS.iter().enumerate() {
            let fitted = decide(sets, lists, orders, |set| set.world != Some(world));
            let found = world_figures(sets, lists, &fitted, world, is_dense);
            found.print(name);
            total.add(&found);
        }
        total.print("all worlds");
        let fitted = decide(sets, lists, orders, |_| true);
        for (number, set) in sets.iter().enumerate().filter(|(_, set)| set.world.is_none()) {
            print_order(set, lists.iter().filter(|list| list.set == number), &fitted, is_dense);
        }
    }
}

/// The best candidates of a list with their probabilities, in the order of their scores.
fn judged(
    list: &CandidateList,
    group: ItemGroup,
    fitted: &[[FittedWeights; 2]],
    is_dense: bool,
) -> Vec<(usize, f32)> {
    let place = GROUPS.iter().position(|of| *of == group).unwrap_or(0);
    let weights = &fitted[place][usize::from(is_dense)];
    let fused = list.signals.fused(&order_of(group, &weights.signals));
    let order = best_places(&fused, TOP_K);
    let message = message_values(list, &fused, &order, is_dense);
    let asks = logistic(&message, &weights.message, weights.message_bias)
        * logistic(&message, &weights.group, weights.group_bias);
    let rows = item_values(list, &fused, &order, is_dense);
    let fits = rows.iter().map(|row| asks * logistic(row, &weights.evidence, weights.bias));
    order.into_iter().zip(fits).collect()
}

fn logistic(values: &[f32], weights: &[f32], bias: f32) -> f32 {
    let sum: f32 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    1.0 / (1.0 + (-(sum + bias)).exp())
}

/// Sums over the messages of a world.
#[derive(Default)]
struct WorldFigures {
    asking: f64,
    found: f64,
    reached: f64,
    picking: f64,
    precision: f64,
    picked: f64,
    nothing: f64,
    kept_out: f64,
}

fn world_figures(
    sets: &[LabelledSet],
    lists: &[CandidateList],
    fitted: &[[FittedWeights; 2]],
    world: usize,
    is_dense: bool,
) -> WorldFigures {
    let mut messages: HashMap<usize, Vec<(f32, bool, bool, usize)>> = HashMap::new();
    let mut needed: HashMap<usize, f64> = HashMap::new();
    let of_world = lists.iter().filter(|list| sets[list.set].world == Some(world) && list.few == 0);
    for list in of_world {
        let rows = messages.entry(list.message).or_default();
        let judged = judged(list, sets[list.set].group, fitted, is_dense);
        rows.extend(judged.into_iter().map(|(place, probability)| {
            let needs = list.fits[place] && !list.helps[place];
            (probability, list.fits[place], needs, list.set)
        }));
        let all = list.fits.iter().zip(&list.helps).filter(|(fits, helps)| **fits && !**helps);
        *needed.entry(list.message).or_default() += all.count() as f64;
    }
    let mut figures = WorldFigures::default();
    for (message, mut rows) in messages {
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut of_set: HashMap<usize, usize> = HashMap::new();
        let (mut picked, mut others) = (Vec::new(), Vec::new());
        for row in rows {
            let count = of_set.entry(row.3).or_default();
            if row.0 >= FLOOR && *count < TOP_N {
                *count += 1;
                picked.push(row);
            } else {
                others.push(row);
            }
        }
        let all = needed[&message];
        if all == 0.0 {
            figures.nothing += 1.0;
            figures.kept_out += f64::from(u8::from(picked.is_empty()));
            continue;
        }
        let needs = |rows: &[(f32, bool, bool, usize)]| {
            rows.iter().filter(|(_, _, needs, _)| *needs).count() as f64
        };
        figures.asking += 1.0;
        figures.found += needs(&picked) / all;
        figures.reached += (needs(&picked) + needs(&others[..others.len().min(LINES)])) / all;
        figures.picked += picked.len() as f64;
        if !picked.is_empty() {
            let fitting = picked.iter().filter(|(_, fits, ..)| *fits).count() as f64;
            figures.precision += fitting / picked.len() as f64;
            figures.picking += 1.0;
        }
    }
    figures
}

impl WorldFigures {
    fn add(&mut self, other: &WorldFigures) {
        self.asking += other.asking;
        self.found += other.found;
        self.reached += other.reached;
        self.picking += other.picking;
        self.precision += other.precision;
        self.picked += other.picked;
        self.nothing += other.nothing;
        self.kept_out += other.kept_out;
    }

    fn print(&self, name: &str) {
        let (found, reached) = (self.found / self.asking, self.reached / self.asking);
        let (precision, picked) = (self.precision / self.picking, self.picked / self.asking);
        let kept_out = self.kept_out / self.nothing;
        println!(
            "  {name}: needed {found:.3}, reached {reached:.3}, precision {precision:.3}, picked \
             {picked:.2}, nothing for nothing {kept_out:.3}"
        );
    }
}

/// Prints how the order of a public set fares by scores and by probabilities, and what is picked.
fn print_order<'a>(
    set: &LabelledSet,
    lists: impl Iterator<Item = &'a CandidateList>,
    fitted: &[[FittedWeights; 2]],
    is_dense: bool,
) {
    let mut sums = [0.0; 6];
    let (mut count, mut nothing, mut kept_out) = (0.0, 0.0, 0.0);
    for list in lists.filter(|list| list.few == 0 && !list.is_near_miss()) {
        let mut judged = judged(list, set.group, fitted, is_dense);
        let by_score: Vec<usize> = judged.iter().map(|(place, _)| *place).collect();
        judged.sort_by(|a, b| b.1.total_cmp(&a.1));
        let by_probability: Vec<usize> = judged.iter().map(|(place, _)| *place).collect();
        let picked = judged.iter().filter(|(_, probability)| *probability >= FLOOR).take(TOP_N);
        let picked: Vec<usize> = picked.map(|(place, _)| *place).collect();
        if !list.has_fitting() {
            nothing += 1.0;
            kept_out += f64::from(u8::from(picked.is_empty()));
            continue;
        }
        count += 1.0;
        let all = list.fits.iter().filter(|fits| **fits).count() as f64;
        let found = picked.iter().filter(|place| list.fits[**place]).count() as f64 / all;
        let (recall, gain) = measure_order(list, &by_score);
        let (other_recall, other_gain) = measure_order(list, &by_probability);
        let values = [recall, gain, other_recall, other_gain, found, picked.len() as f64];
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    let [recall, gain, other_recall, other_gain, found, picked] = sums.map(|sum| sum / count);
    println!(
        "  {}: by score {recall:.3}/{gain:.3}, by probability {other_recall:.3}/{other_gain:.3}, \
         picked {picked:.2} with recall {found:.3}, nothing for nothing {:.3}",
        set.name,
        kept_out / nothing,
    );
}
