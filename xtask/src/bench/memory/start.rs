//! What a year of use adds to the start of Recto: `recto context hello` in the year's
//! home, and in an empty one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::home::{HomeMemories, HomeRules, YearHome};
use crate::Result;
use crate::bench::pair::TimedPair;

const RUNS: usize = 20;
const WARM_UP: usize = 3;

/// Measures in homes with rules that come when they fit, or without.
pub(super) fn measure(
    recto: &Path,
    home: &YearHome,
    folder: &Path,
    rules: HomeRules,
    encoder: Option<&Path>,
) -> Result<TimedPair> {
    let year = home.beside(&folder.join("year"), HomeMemories::Year, rules)?;
    let empty = home.beside(&folder.join("empty"), HomeMemories::None, rules)?;
    if let Some(encoder) = encoder {
        year.lend(encoder)?;
        empty.lend(encoder)?;
    }
    let mut times = Vec::with_capacity(RUNS);
    for run in 0..WARM_UP + RUNS {
        let pair = (context(recto, &empty)?, context(recto, &year)?);
        if run >= WARM_UP {
            times.push(pair);
        }
    }
    TimedPair::new(format!("recto context hello, {}", rules.describe()), times)
}

/// Milliseconds from the start of the process to its end.
fn context(recto: &Path, home: &YearHome) -> Result<f64> {
    let mut command = Command::new(recto);
    // What the environment sets is not what is measured.
    let set = std::env::vars_os().map(|(name, _)| name);
    for name in set.filter(|name| name.to_string_lossy().starts_with("RECTO_")) {
        command.env_remove(name);
    }
    command.arg("--home").arg(&home.folder).args(["context", "hello"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let output = command.output()?;
    let time = start.elapsed().as_secs_f64() * 1e3;
    match output.status.success() {
        true => Ok(time),
        false => Err(format!("recto failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}
