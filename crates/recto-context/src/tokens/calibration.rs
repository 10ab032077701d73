//! Moves a model's rates to what its server counts.
//!
//! Recursive least squares: the default rates are the prior, each count by the server is one
//! equation, and a covariance says how far each rate may still move. Two things differ from the
//! textbook. The rates drift, since a session that turns from English to German asks the same class
//! for another rate; so the newest requests always have a say. And an observation that no honest
//! tokenizer could have made is refused, because a server that cut the prompt also reports a count.

use serde::{Deserialize, Serialize};

use super::{TextProfile, TokenClass, TokenRates, Tokens};

const N: usize = TokenClass::COUNT;

/// How far a rate may lie from the prior, as a share of it (one standard deviation).
const PRIOR_SPREAD: f64 = 0.6;
/// How far a rate may move from one request to the next, as a share of the prior.
const DRIFT: f64 = 0.1;
/// How well the classes explain a count even at the best rates, as a share of the count.
const NOISE: f64 = 0.01;
/// Added to learned estimates, since a prompt that is too long costs more than room left over.
const MARGIN: f64 = 1.01;
/// How many times cheaper or dearer than the prior a rate may become. No tokenizer seen is further
/// off than five.
const REACH: f64 = 8.0;
/// A count this many times above the estimate is some other number. Llama 2 reaches 2.4 in Korean.
const TOO_HIGH: f64 = 4.0;
/// With fewer counts than this no rate falls below the prior's: one low count of a short prompt
/// says little about the long text that comes next, and a prompt that is too long costs more than
/// room left over.
const FEW: u32 = 3;
/// How wrong a learned estimate must be, as a share of the count, for all that was learned to be
/// doubted.
const DOUBT: f64 = 0.25;
/// The form of the stored state: its classes, their order and the prior behind it.
const VERSION: u32 = 2;

/// The outcome of an observation: whether the rates follow it, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservationOutcome {
    /// The rates follow it.
    Used,
    /// Nothing was sent, so nothing can be learned.
    Empty,
    /// Less than half of what was to be expected: the server cut the prompt, or left out what it
    /// had cached.
    ImplausiblyLow,
    /// Several times what was to be expected: the server counted something else as well.
    ImplausiblyHigh,
}

/// The rates of one model, corrected by what its server counted. Kept over restarts; a state of
/// another version does not deserialize, and the caller begins anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SavedCalibration", into = "SavedCalibration")]
pub struct Calibration {
    prior: TokenRates,
    /// The rates as multiples of the prior's, which gives every class the same scale.
    factors: [f64; N],
    /// Covariance of the factors; symmetric.
    covariance: Box<[[f64; N]; N]>,
    observations: u32,
}

impl Calibration {
    /// Nothing observed yet: the prior holds.
    pub fn new(prior: TokenRates) -> Calibration {
        let mut covariance = Box::new([[0.0; N]; N]);
        for class in 0..N {
            covariance[class][class] = PRIOR_SPREAD.powi(2);
        }
        Calibration { prior, factors: [1.0; N], covariance, observations: 0 }
    }

    /// Learns that a prompt of this many messages was `counted` by the server. Tokens it took from
    /// its cache are to be included in `counted`.
    pub fn observe(
        &mut self,
        prompt: &TextProfile,
        messages: u32,
        counted: Tokens,
    ) -> ObservationOutcome {
        let prompt = prompt.with_messages(messages);
        let verdict = self.judge(&prompt, counted);
        if verdict == ObservationOutcome::Used {
            if self.is_astray(&prompt, counted) {
                *self = Calibration::new(self.prior.clone());
            }
            self.drift();
            self.correct(&self.costs(&prompt), f64::from(counted.get()));
            self.observations = self.observations.saturating_add(1);
        }
        verdict
    }

    /// The rates as they are known now.
    pub fn rates(&self) -> TokenRates {
        match self.observations {
            0 => self.prior.clone(),
            few if few < FEW => self.rates_from(1.0),
            _ => self.rates_from(0.0),
        }
    }

    /// The learned rates, none less than `least` times the prior's.
    fn rates_from(&self, least: f64) -> TokenRates {
        let prior = self.prior.as_array();
        TokenRates::from_array(std::array::from_fn(|class| {
            (f64::from(prior[class]) * (self.factors[class] * MARGIN).max(least)) as f32
        }))
    }

    /// How many counts have been learned from.
    pub fn observations(&self) -> u32 {
        self.observations
    }

    /// A low count is held against the prior alone: a server that cuts ever more of a growing prompt
    /// would lead the rates down with it, and pass. A high one is held against what was learned as
    /// well, so that rates led astray can find back.
    fn judge(&self, prompt: &TextProfile, counted: Tokens) -> ObservationOutcome {
        let costs = self.costs(prompt);
        let counted = f64::from(counted.get());
        if prompt.is_empty() {
            ObservationOutcome::Empty
        } else if counted < dot(&costs, &least_shares()) {
            ObservationOutcome::ImplausiblyLow
        } else if counted > dot(&costs, &self.factors.map(|factor| factor.max(1.0) * TOO_HIGH)) {
            ObservationOutcome::ImplausiblyHigh
        } else {
            ObservationOutcome::Used
        }
    }

    /// Whether the prior would have done better than rates that are far off. Counts that contradict
    /// each other leave rates at their limits and a covariance that cannot lead them back, so
    /// learning begins anew.
    fn is_astray(&self, prompt: &TextProfile, counted: Tokens) -> bool {
        let counted = f64::from(counted.get());
        let miss = |rates: &TokenRates| (rates.exact(prompt) - counted).abs();
        let learned = miss(&self.rates_from(0.0));
        learned > DOUBT * counted && learned > miss(&self.prior)
    }

    /// What each class of the prompt costs at the prior's rates.
    fn costs(&self, prompt: &TextProfile) -> [f64; N] {
        let (rates, counts) = (self.prior.as_array(), prompt.counts());
        std::array::from_fn(|class| f64::from(rates[class]) * f64::from(counts[class]))
    }

    /// Loosens every rate a little, but never beyond the prior.
    fn drift(&mut self) {
        for class in 0..N {
            let variance = &mut self.covariance[class][class];
            *variance = (*variance + DRIFT.powi(2)).min(PRIOR_SPREAD.powi(2));
        }
    }

    fn correct(&mut self, costs: &[f64; N], counted: f64) {
        let spread: [f64; N] = std::array::from_fn(|row| dot(&self.covariance[row], costs));
        let noise = (NOISE * counted).powi(2) + 1.0;
        let total = dot(&spread, costs) + noise;
        let surprise = counted - dot(&self.factors, costs);
        for row in 0..N {
            let gain = spread[row] / total;
            self.factors[row] = (self.factors[row] + gain * surprise).clamp(1.0 / REACH, REACH);
            for (value, spread) in self.covariance[row].iter_mut().zip(&spread) {
                *value -= gain * spread;
            }
        }
    }
}

/// The share of each class's estimate below which a count cannot be true. Half, but less where the
/// default is high because models differ most: Gemma writes Hindi and Bengali in a quarter of the
/// tokens that Qwen and Llama need.
fn least_shares() -> [f64; N] {
    let mut shares = [0.5; N];
    shares[TokenClass::Devanagari as usize] = 0.18;
    shares[TokenClass::Script as usize] = 0.18;
    shares[TokenClass::Alphabet as usize] = 0.3;
    // Some templates explain at length how tools are called, others say nothing.
    shares[TokenClass::Tool as usize] = 0.0;
    shares
}

fn dot(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// [`Calibration`] as stored. The covariance is symmetric, so its lower triangle is enough.
#[derive(Clone, Serialize, Deserialize)]
struct SavedCalibration {
    version: u32,
    prior: TokenRates,
    factors: Vec<f64>,
    covariance: Vec<f64>,
    observations: u32,
}

impl From<Calibration> for SavedCalibration {
    fn from(calibration: Calibration) -> SavedCalibration {
        let rows = calibration.covariance.iter().enumerate();
        SavedCalibration {
            version: VERSION,
            prior: calibration.prior,
            factors: calibration.factors.to_vec(),
            covariance: rows.flat_map(|(row, values)| values[..=row].iter().copied()).collect(),
            observations: calibration.observations,
        }
    }
}

impl TryFrom<SavedCalibration> for Calibration {
    type Error = &'static str;

    fn try_from(saved: SavedCalibration) -> Result<Calibration, Self::Error> {
        if saved.version != VERSION {
            return Err("calibration of another version");
        }
        if saved.covariance.len() != N * (N + 1) / 2
            || !saved.covariance.iter().all(|value| value.is_finite())
        {
            return Err("calibration with a damaged covariance");
        }
        let factors: [f64; N] =
            saved.factors.try_into().map_err(|_| "calibration with other classes")?;
        if !factors.iter().all(|factor| (1.0 / REACH..=REACH).contains(factor))
            || !saved.prior.is_sound()
        {
            return Err("calibration with a damaged rate");
        }
        let mut covariance = Box::new([[0.0; N]; N]);
        let mut values = saved.covariance.into_iter();
        for row in 0..N {
            for (column, value) in values.by_ref().take(row + 1).enumerate() {
                covariance[row][column] = value;
                covariance[column][row] = value;
            }
        }
        let (prior, observations) = (saved.prior, saved.observations);
        Ok(Calibration { prior, factors, covariance, observations })
    }
}
