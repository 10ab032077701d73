//! The executable of Recto that runs now.
//!
//! A path can be given to another file while Recto runs. What is started again must be what was
//! started by a person; so on Linux it is the open file that the kernel runs, whatever has come
//! to stand at its path.

use std::path::{Path, PathBuf};

/// The kernel's name for the file that a process runs. In a new process, before it runs
/// something else, it is the one that its parent runs.
const RUNNING: &str = "/proc/self/exe";

/// A path that starts the running executable again. Good for this process and its children only.
pub fn own_executable() -> Option<PathBuf> {
    if cfg!(target_os = "linux") && std::fs::metadata(RUNNING).is_ok() {
        return Some(Path::new(RUNNING).to_owned());
    }
    std::env::current_exe().ok()
}
