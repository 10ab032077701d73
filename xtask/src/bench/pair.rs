//! Two ways to do a thing, measured in turn, so that whatever else the machine does is
//! the same for both.

use std::borrow::Cow;
use std::future::Future;
use std::time::Instant;

use super::report::{Figure, FigureRow, FigureUnit};
use super::stats::Samples;
use crate::Result;

/// What two ways took: a plain one, and one with something more.
pub(super) struct TimedPair {
    name: Cow<'static, str>,
    plain: Samples,
    with: Samples,
}

impl TimedPair {
    pub(super) fn new(name: impl Into<Cow<'static, str>>, times: Vec<(f64, f64)>) -> Result<Self> {
        let (plain, with): (Vec<f64>, Vec<f64>) = times.into_iter().unzip();
        let samples = |times| Samples::new(times).ok_or("nothing was measured");
        Ok(TimedPair { name: name.into(), plain: samples(plain)?, with: samples(with)? })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What the second is by the first, by the medians.
    pub(super) fn ratio(&self) -> f64 {
        self.with.percentile(50) / self.plain.percentile(50)
    }

    /// What it adds, by the medians.
    pub(super) fn added(&self) -> f64 {
        self.with.percentile(50) - self.plain.percentile(50)
    }

    pub(super) fn row(&self) -> FigureRow {
        let figure = |name, value| Figure { name, value, unit: FigureUnit::Milliseconds };
        let figures = vec![
            Figure { name: "runs", value: self.with.count() as f64, unit: FigureUnit::Count },
            figure("without p50", self.plain.percentile(50)),
            figure("without p95", self.plain.percentile(95)),
            figure("with p50", self.with.percentile(50)),
            figure("with p95", self.with.percentile(95)),
            figure("added p50", self.added()),
            figure("added p95", self.with.percentile(95) - self.plain.percentile(95)),
        ];
        FigureRow::new(self.name.clone(), figures)
    }
}

/// What work took, in milliseconds, and what it gave.
pub(super) async fn timed<T>(work: impl Future<Output = T>) -> (f64, T) {
    let start = Instant::now();
    let result = work.await;
    (start.elapsed().as_secs_f64() * 1e3, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_the_difference_of_the_medians() {
        let times = vec![(1.0, 4.0), (2.0, 5.0), (9.0, 6.0)];
        let pair = TimedPair::new("a", times).unwrap();
        assert_eq!((pair.added(), pair.ratio()), (3.0, 2.5));
        assert_eq!(pair.row().figures.len(), 7);
        assert!(TimedPair::new("a", Vec::new()).is_err());
    }
}
