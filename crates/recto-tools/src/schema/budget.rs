//! Bounds the work of a check. Arguments and schemas come from outside, and a few hundred bytes
//! of schema can ask for more work than anybody can wait for. So every step of a check is paid
//! for: once its budget is used up, or nobody waits for it any more, the check is given up.

use crate::blocking::Stop;

/// The steps that one check may take; a second of work, in the slowest build.
const MAX_WORK: u64 = 1_000_000;

/// Schemas within each other that are followed, references included, so that the stack of a
/// thread is enough.
const MAX_NESTED: usize = 200;

/// The steps that a check has left.
#[derive(Debug)]
pub(super) struct WorkBudget<'a> {
    left: u64,
    nested: usize,
    stop: &'a Stop,
}

/// The reason why a check was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Abandoned {
    /// It would take more work than a check may.
    TooMuchWork,
    /// Nobody waits for it any more.
    Unwanted,
}

impl<'a> WorkBudget<'a> {
    /// The budget of one check, which is given up when `stop` is raised.
    pub(super) fn new(stop: &'a Stop) -> Self {
        WorkBudget { left: MAX_WORK, nested: 0, stop }
    }

    /// Pays for so many steps.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Abandoned> {
        if self.stop.is_raised() {
            return Err(Abandoned::Unwanted);
        }
        self.left = self.left.checked_sub(steps).ok_or(Abandoned::TooMuchWork)?;
        Ok(())
    }

    /// Goes one schema deeper.
    pub(super) fn enter(&mut self, steps: u64) -> Result<(), Abandoned> {
        self.nested += 1;
        if self.nested > MAX_NESTED {
            return Err(Abandoned::TooMuchWork);
        }
        self.spend(steps)
    }

    /// Comes back out of a schema.
    pub(super) fn leave(&mut self) {
        self.nested -= 1;
    }
}
