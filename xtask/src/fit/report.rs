//! What the weights reach on messages that they were not fitted on.

use std::collections::HashMap;

use super::lists::{CandidateList, FEW};
use super::sets::LabelledSet;
use super::weigh::{FOLDS, FittedWeights, GROUPS, fit, fitness, measure};

/// The floor and the count of the preset `normal`.
const FLOOR: f32 = 0.4;
const TOP_N: usize = 5;

/// Prints what is reached, each message judged by weights found without it.
pub(super) fn print(sets: &[LabelledSet], lists: &[CandidateList]) {
    for is_dense in [true, false] {
        println!("{}", if is_dense { "with cosines" } else { "by words alone" });
        let mut tables: HashMap<(usize, usize, bool), FitFigures> = HashMap::new();
        let mut bins = [(0.0, 0.0, 0.0); 10];
        for fold in 0..FOLDS {
            let fitted = fit(sets, lists, |message| message % FOLDS != fold);
            let judged = lists.iter().filter(|list| !list.is_near_miss());
            for list in judged.filter(|list| list.message % FOLDS == fold) {
                let place = GROUPS.iter().position(|group| *group == sets[list.set].group);
                let weights = &fitted[place.unwrap_or(0)][usize::from(is_dense)];
                let fits = chance(list, weights, is_dense);
                let table = tables.entry((list.set, list.few, list.has_fitting())).or_default();
                table.add(list, weights, fits);
                let bin = &mut bins[((fits * 10.0) as usize).min(9)];
                let weight = 1.0;
                *bin = (
                    bin.0 + weight,
                    bin.1 + weight * f64::from(fits),
                    bin.2 + weight * f64::from(u8::from(list.has_fitting())),
                );
            }
        }
        for (set, about) in sets.iter().enumerate() {
            for few in [0].into_iter().chain(FEW) {
                for has_fitting in [true, false] {
                    if let Some(table) = tables.get(&(set, few, has_fitting)) {
                        table.print(about.name, few, has_fitting);
                    }
                }
            }
        }
        println!("anything fits: said, was, lists");
        for (count, said, was) in bins.into_iter().filter(|(count, ..)| *count > 0.0) {
            println!("  {:.2}  {:.2}  {count}", said / count, was / count);
        }
    }
}

/// The probability that anything in a list fits.
fn chance(list: &CandidateList, weights: &FittedWeights, is_dense: bool) -> f32 {
    let values = fitness(list, &weights.signals, is_dense);
    let sum: f32 = values.iter().zip(weights.fitness).map(|(value, weight)| value * weight).sum();
    1.0 / (1.0 + (-(sum + weights.bias)).exp())
}

#[derive(Default)]
struct FitFigures {
    lists: f64,
    recall: f64,
    gain: f64,
    picked: f64,
    found: f64,
    nothing: f64,
}

impl FitFigures {
    fn add(&mut self, list: &CandidateList, weights: &FittedWeights, fits: f32) {
        self.lists += 1.0;
        let fused = list.signals.fused(&weights.signals);
        let most = fused.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut order: Vec<usize> = (0..fused.len()).collect();
        order.sort_by(|a, b| fused[*b].total_cmp(&fused[*a]));
        let is_taken =
            |item: &&usize| fits * (weights.contrast * (fused[**item] - most)).exp() >= FLOOR;
        let picked: Vec<usize> = order.iter().take(TOP_N).filter(is_taken).copied().collect();
        self.picked += picked.len() as f64;
        self.nothing += f64::from(u8::from(picked.is_empty()));
        if list.has_fitting() {
            let (recall, gain) = measure(list, &weights.signals);
            (self.recall, self.gain) = (self.recall + recall, self.gain + gain);
            let all = list.fits.iter().filter(|fits| **fits).count() as f64;
            self.found += picked.iter().filter(|item| list.fits[**item]).count() as f64 / all;
        }
    }

    fn print(&self, name: &str, few: usize, has_fitting: bool) {
        let of = |sum: f64| sum / self.lists;
        let few = if few == 0 { "all".to_owned() } else { few.to_string() };
        let (picked, nothing) = (of(self.picked), of(self.nothing));
        if has_fitting {
            let (recall, gain, found) = (of(self.recall), of(self.gain), of(self.found));
            println!(
                "  {name} {few}: {recall:.3}/{gain:.3}, picked {picked:.2} with recall {found:.3}, lost {nothing:.3}"
            );
        } else {
            println!("  {name} {few}, nothing fits: none picked {nothing:.3}, picked {picked:.2}");
        }
    }
}
