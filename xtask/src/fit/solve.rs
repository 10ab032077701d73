//! Logistic regression with a pull towards given weights.

/// An observation: what is known, whether it holds, and how much it counts.
pub(super) struct Observation {
    pub(super) values: Vec<f64>,
    pub(super) holds: bool,
    pub(super) weight: f64,
}

/// Weights and, last, the bias.
pub(super) type Solution = Vec<f64>;

/// The probability that a solution gives.
pub(super) fn probability(values: &[f64], solution: &[f64]) -> f64 {
    let sum: f64 = values.iter().zip(solution).map(|(value, weight)| value * weight).sum();
    1.0 / (1.0 + (-(sum + solution.last().copied().unwrap_or(0.0))).exp())
}

/// Fits by Newton's method. `pull` is the price of a squared step away from `towards`; the
/// bias is free.
pub(super) fn logistic(rows: &[Observation], towards: &[f64], pull: f64) -> Solution {
    let size = towards.len();
    let mut solution = towards.to_vec();
    for _ in 0..30 {
        let mut slope = vec![0.0; size];
        let mut curve = vec![vec![0.0; size]; size];
        for at in 0..size - 1 {
            slope[at] = 2.0 * pull * (solution[at] - towards[at]);
            curve[at][at] = 2.0 * pull;
        }
        for row in rows {
            let found = probability(&row.values, &solution);
            let error = row.weight * (found - f64::from(u8::from(row.holds)));
            let spread = row.weight * found * (1.0 - found);
            let value = |at: usize| row.values.get(at).copied().unwrap_or(1.0);
            for a in 0..size {
                slope[a] += error * value(a);
                for (b, part) in curve[a][..=a].iter_mut().enumerate() {
                    *part += spread * value(a) * value(b);
                }
            }
        }
        let step = symmetric(curve, slope);
        let length: f64 = step.iter().map(|part| part * part).sum();
        solution.iter_mut().zip(&step).for_each(|(weight, part)| *weight -= part);
        if length < 1e-10 {
            break;
        }
    }
    solution
}

/// Solves a system whose matrix is symmetric, given by its lower half.
fn symmetric(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for a in 0..size {
        for b in 0..=a {
            let known: f64 = (0..b).map(|c| matrix[a][c] * matrix[b][c]).sum();
            let rest = matrix[a][b] - known;
            matrix[a][b] = if a == b { rest.max(1e-9).sqrt() } else { rest / matrix[b][b] };
        }
    }
    for a in 0..size {
        let known: f64 = (0..a).map(|b| matrix[a][b] * right[b]).sum();
        right[a] = (right[a] - known) / matrix[a][a];
    }
    for a in (0..size).rev() {
        let known: f64 = (a + 1..size).map(|b| matrix[b][a] * right[b]).sum();
        right[a] = (right[a] - known) / matrix[a][a];
    }
    right
}
