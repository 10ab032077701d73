//! What the tools need to know of the configuration.

use std::path::PathBuf;
use std::time::Duration;

/// What the built-in tools may reach, and how far a call may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOptions {
    /// The folder that file tools work in. It is opened anew for every call, so
    /// it may come later than the tools.
    pub workspace: PathBuf,
    /// Absolute paths that no tool may write, such as the config file and the
    /// store. A folder stands for all that is in it, and a file also for what a
    /// database keeps beside it, such as `recto.db-wal`.
    pub protected: Vec<PathBuf>,
    /// How far a call may go.
    pub limits: CallLimits,
}

impl ToolOptions {
    /// Tools for this workspace, with the usual limits and nothing protected
    /// besides what always is.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        ToolOptions {
            workspace: workspace.into(),
            protected: Vec::new(),
            limits: CallLimits::default(),
        }
    }
}

/// How far a single call may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// The longest text that a call gives back; what is longer is shortened in the middle.
    pub max_output_bytes: usize,
    /// The longest time that a call takes; one that takes longer has failed.
    pub time_limit: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        CallLimits { max_output_bytes: 64 * 1024, time_limit: Duration::from_secs(30) }
    }
}
