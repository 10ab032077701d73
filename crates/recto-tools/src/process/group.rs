//! A process group that ends with what holds it.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

use super::keeper::Keeper;

/// A process group. Killed when this is dropped, or by the keeper if Recto ends
/// first.
///
/// Drop it soon after its first process has ended: when the whole group has, the
/// system may give its number to another one some day.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    leader: Pid,
    keeper: Keeper,
}

impl ProcessGroup {
    /// The group of a child that was started as its first process; `None` if it
    /// has ended already.
    pub(crate) fn from_child(child: &Child, keeper: &Keeper) -> Option<Self> {
        let leader = Pid::from_raw(child.id()?.try_into().ok()?)?;
        keeper.entrust_group(leader);
        Some(ProcessGroup { leader, keeper: keeper.clone() })
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // Most often all have ended, and there is nothing to kill.
        _ = kill_process_group(self.leader, Signal::KILL);
        self.keeper.release_group(self.leader);
    }
}
