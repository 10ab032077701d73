//! How a pull goes, for whoever waits for it.
//!
//! On a terminal there is one line with a bar, the rate and the time left, and
//! what has happened stays above it. A file or a program gets plain lines: when
//! a source is tried, when a file begins, every tenth of one that takes its time,
//! and when a file is there.

use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use recto_models::{ByteSize, PullProgress};

use crate::output::tell;
use crate::terminal::status::StatusLine;

/// The least time between two drawings of the line on a terminal.
const DRAWN: Duration = Duration::from_millis(100);

/// The least time between two lines for a file or a program.
const TOLD: Duration = Duration::from_secs(1);

/// The time over which the rate is taken.
const RATED: Duration = Duration::from_secs(5);

/// The columns of the bar.
const BAR: u64 = 24;

/// Tells how a pull goes.
pub(super) struct PullDisplay {
    to: DisplayTarget,
    begun: Instant,
    file: Option<FileProgress>,
}

/// The reader of what is told: a terminal, a file or program, or nobody.
enum DisplayTarget {
    Terminal(StatusLine),
    Lines,
    Nobody,
}

/// The file that is on its way.
struct FileProgress {
    name: String,
    begun: Duration,
    rate: TransferRate,
    /// The last tenth that was told.
    tenth: u64,
    /// When something was last told of it.
    shown_at: Option<Duration>,
}

impl PullDisplay {
    /// Tells whoever reads standard error.
    pub(super) fn on_stderr() -> Self {
        let to = match io::stderr().is_terminal() {
            true => DisplayTarget::Terminal(StatusLine::new()),
            false => DisplayTarget::Lines,
        };
        PullDisplay { to, begun: Instant::now(), file: None }
    }

    /// Tells nobody how the pull goes.
    pub(super) fn quiet() -> Self {
        PullDisplay { to: DisplayTarget::Nobody, begun: Instant::now(), file: None }
    }

    pub(super) fn tell(&mut self, progress: &PullProgress) {
        match progress {
            PullProgress::Waiting { name } => {
                self.note(&format!("waiting for another pull of `{name}` to end"));
            }
            PullProgress::Trying { source } => self.note(&format!("from {source}")),
            PullProgress::Connecting { server, .. } => {
                self.show(&format!("connecting to {server}"));
            }
            PullProgress::Bytes { file, done, total } => self.bytes(file, *done, *total),
            PullProgress::Again { file, why } => self.note(&format!("{file}: {why}; going on")),
            PullProgress::Unpacking { file } => self.show(&format!("unpacking {file}")),
            PullProgress::Verified { file, .. } => self.show(&format!("{file}: SHA-256 is right")),
            PullProgress::Damaged { path } => {
                self.note(&format!("{} is damaged, and is fetched again", path.display()));
            }
            PullProgress::AlreadyThere { path } => {
                self.note(&format!("✓ {} is already there", path.display()));
            }
            PullProgress::Done { path, size } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                self.note(&format!("✓ {name} ({}{})", ByteSize(*size), self.time_taken(&name)));
                self.file = None;
            }
            PullProgress::SourceFailed { source, why } => self.note(&format!("✗ {source}: {why}")),
        }
    }

    /// Takes the line away.
    pub(super) fn end(&mut self) {
        self.file = None;
        if let DisplayTarget::Terminal(status) = &mut self.to {
            status.clear();
        }
    }

    /// Says what goes on, where there is a line for it.
    fn show(&mut self, text: &str) {
        if let DisplayTarget::Terminal(status) = &mut self.to {
            status.show(text);
        }
    }

    /// Says something for good.
    fn note(&mut self, text: &str) {
        match &mut self.to {
            DisplayTarget::Terminal(status) => status.note(text),
            DisplayTarget::Lines => tell(&text),
            DisplayTarget::Nobody => {}
        }
    }

    fn time_taken(&self, name: &str) -> String {
        let now = self.begun.elapsed();
        let taken = self.file.as_ref().filter(|file| file.name == name);
        let taken = taken.map(|file| now.saturating_sub(file.begun).as_secs_f64());
        taken.map(|seconds| format!(" in {seconds:.1} s")).unwrap_or_default()
    }

    fn bytes(&mut self, name: &str, done: u64, total: Option<u64>) {
        let now = self.begun.elapsed();
        let tenth = total.filter(|total| *total > 0).map_or(0, |total| share(done, total, 10));
        if self.file.as_ref().is_none_or(|file| file.name != name) {
            let (rate, begun) = (TransferRate::default(), now);
            self.file =
                Some(FileProgress { name: name.to_owned(), begun, rate, tenth, shown_at: None });
        }
        let Some(file) = &mut self.file else { return };
        file.rate.add(now, done);
        let rate = file.rate.per_second();
        let is_due =
            |pause| file.shown_at.is_none_or(|shown_at| now.saturating_sub(shown_at) >= pause);
        match &mut self.to {
            DisplayTarget::Terminal(status) if is_due(DRAWN) => {
                status.show(&format!("{}  {name}", line(done, total, rate)));
            }
            DisplayTarget::Lines
                if file.shown_at.is_none() || tenth > file.tenth && is_due(TOLD) =>
            {
                tell(&format_args!("{name}: {}", plain_line(done, total, rate)));
            }
            _ => return,
        }
        (file.tenth, file.shown_at) = (tenth, Some(now));
    }
}

/// The number of `parts` that are done; `total` is not 0.
fn share(done: u64, total: u64, parts: u64) -> u64 {
    let share = u128::from(done.min(total)) * u128::from(parts) / u128::from(total);
    u64::try_from(share).unwrap_or(parts)
}

/// The line with its bar.
fn line(done: u64, total: Option<u64>, rate: Option<u64>) -> String {
    let Some(total) = total.filter(|total| *total > 0) else {
        return plain_line(done, None, rate);
    };
    let filled = share(done, total, BAR);
    let repeat = |mark: &str, count: u64| mark.repeat(usize::try_from(count).unwrap_or(0));
    let bar = repeat("━", filled) + &repeat("╌", BAR - filled);
    format!("{bar} {}", plain_line(done, Some(total), rate))
}

/// The progress in words: how much, how fast, how long.
fn plain_line(done: u64, total: Option<u64>, rate: Option<u64>) -> String {
    let total = total.filter(|total| *total > 0);
    let mut words = match total {
        Some(total) => {
            let percent = share(done, total, 100);
            vec![format!("{percent}% of {}", ByteSize(total))]
        }
        None => vec![ByteSize(done).to_string()],
    };
    if let Some(rate) = rate {
        words.push(format!("{}/s", ByteSize(rate)));
        if let Some(left) = total.map(|total| total.saturating_sub(done)).filter(|_| rate > 0) {
            words.push(format!("{} left", time(left.div_ceil(rate))));
        }
    }
    words.join(", ")
}

/// Seconds as people say them.
fn time(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// The rate at which bytes have come of late.
#[derive(Debug, Default)]
struct TransferRate {
    /// The moments at which so many bytes were there.
    seen: VecDeque<(Duration, u64)>,
}

impl TransferRate {
    fn add(&mut self, now: Duration, done: u64) {
        // A file that begins anew has no past.
        if self.seen.back().is_some_and(|(_, before)| *before > done) {
            self.seen.clear();
        }
        while self.seen.len() > 1
            && self.seen.front().is_some_and(|(then, _)| now.saturating_sub(*then) > RATED)
        {
            self.seen.pop_front();
        }
        self.seen.push_back((now, done));
    }

    /// `None` as long as there is nothing to go by.
    fn per_second(&self) -> Option<u64> {
        let ((first, from), (last, to)) = (self.seen.front()?, self.seen.back()?);
        let millis = u64::try_from(last.saturating_sub(*first).as_millis()).ok()?;
        // Shorter times say nothing.
        (millis >= 200).then(|| (to - from).saturating_mul(1000) / millis)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_line_tells_how_much_how_fast_and_how_long() {
        let size = 98_362_432;
        let lines = [
            line(0, Some(size), None),
            line(44_263_095, Some(size), Some(12_300_000)),
            line(size, Some(size), Some(12_300_000)),
            line(2 * size, Some(size), Some(0)),
            line(1_000_000, None, Some(500_000)),
            line(1_000_000, Some(0), None),
            line(u64::MAX, Some(u64::MAX), Some(u64::MAX)),
        ];
        expect![[r"
            ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 0% of 98.4 MB
            ━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 45% of 98.4 MB, 12.3 MB/s, 5 s left
            ━━━━━━━━━━━━━━━━━━━━━━━━ 100% of 98.4 MB, 12.3 MB/s, 0 s left
            ━━━━━━━━━━━━━━━━━━━━━━━━ 100% of 98.4 MB, 0 B/s
            1.0 MB, 500.0 kB/s
            1.0 MB
            ━━━━━━━━━━━━━━━━━━━━━━━━ 100% of 18446744.1 TB, 18446744.1 TB/s, 0 s left"]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn long_times_are_told_in_minutes_and_hours() {
        assert_eq!([0, 59, 61, 7322].map(time), ["0 s", "59 s", "1 min 1 s", "2 h 2 min"]);
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut rate = TransferRate::default();
        let at = |seconds| Duration::from_secs(seconds);
        rate.add(at(0), 0);
        assert_eq!(rate.per_second(), None);
        rate.add(at(1), 1_000);
        assert_eq!(rate.per_second(), Some(1_000));
        for second in 2..20 {
            rate.add(at(second), 1_000 + (second - 1) * 5_000);
        }
        assert_eq!(rate.per_second(), Some(5_000));
        // A download that begins anew.
        rate.add(at(20), 0);
        assert_eq!(rate.per_second(), None);
    }
}
