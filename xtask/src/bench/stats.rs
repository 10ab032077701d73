//! Samples, and what is said of them.

/// Measured values in order of size; never empty.
#[derive(Debug, Clone)]
pub(super) struct Samples(Vec<f64>);

impl Samples {
    /// `None` when there are none.
    pub(super) fn new(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then_some(Samples(values))
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The smallest value that `percent` of all values don't exceed (nearest
    /// rank): always one that was measured.
    pub(super) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.count() * percent).div_ceil(100).clamp(1, self.count());
        self.0[rank - 1]
    }

    pub(super) fn max(&self) -> f64 {
        self.percentile(100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let samples = Samples::new((1..=200).rev().map(f64::from)).unwrap();
        assert_eq!(samples.percentile(50), 100.0);
        assert_eq!(samples.percentile(99), 198.0);
        assert_eq!(samples.max(), 200.0);
        assert_eq!(samples.percentile(0), 1.0);
    }

    #[test]
    fn a_single_sample_is_all_percentiles() {
        let samples = Samples::new([3.0]).unwrap();
        assert_eq!((samples.percentile(50), samples.max()), (3.0, 3.0));
        assert!(Samples::new([]).is_none());
    }
}
