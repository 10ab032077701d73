//! `recto __keep`: ends what is left when Recto has ended.
//!
//! However Recto ends, by `kill -9` too, its end of the pipe closes, and all
//! process groups that were entrusted to the keeper and not let go are killed.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _};
use std::process::ExitCode;

use rustix::process::{Pid, Signal, kill_process_group};

/// The command that keeps watch.
pub(crate) const KEEP: &str = "__keep";

/// Before the number of a group that is entrusted to the keeper.
pub(crate) const KEPT: char = '+';

/// Before the number of a group that is no longer its concern.
pub(crate) const LET_GO: char = '-';

/// Reads which groups there are, until Recto ends; then kills them.
pub(super) fn keep() -> ExitCode {
    let mut kept = BTreeSet::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        note(&line, &mut kept);
    }
    for group in kept {
        if let Some(group) = Pid::from_raw(group) {
            // One that has ended by itself is no failure.
            _ = kill_process_group(group, Signal::KILL);
        }
    }
    ExitCode::SUCCESS
}

fn note(line: &str, kept: &mut BTreeSet<i32>) {
    let group = |number: &str| number.parse().ok().filter(|number| *number > 1);
    if let Some(group) = line.strip_prefix(KEPT).and_then(group) {
        kept.insert(group);
    } else if let Some(group) = line.strip_prefix(LET_GO).and_then(group) {
        kept.remove(&group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_others_are_kept() {
        let mut kept = BTreeSet::new();
        for line in ["+12", "+13", "-12", "+0", "+1", "+-5", "13", "", "+x", "-99"] {
            note(line, &mut kept);
        }
        assert_eq!(kept, BTreeSet::from([13]));
    }
}
