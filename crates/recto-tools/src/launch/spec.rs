//! The orders to the launcher: the limits of the program, and the word by which it says
//! that something failed.
//!
//! On the wire it is a length and then texts that end with NUL, which no path can
//! hold. Paths go as the bytes they are, whether UTF-8 or not.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::options::{NetworkAccess, SandboxPolicy};

/// The longest text that is accepted; far more than all paths together take.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The limits that a launched program is held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaunchSpec {
    /// A word that the program can't know, before what the launcher itself says.
    pub(crate) nonce: String,
    pub(crate) sandbox: SandboxPolicy,
    pub(crate) network: NetworkAccess,
    pub(crate) view: SystemView,
    /// Whether what may be written may also be executed.
    pub(crate) written: WrittenPrograms,
    pub(crate) limits: KernelLimits,
    /// May be read. None of these paths goes through a link, here and below.
    pub(crate) read: Vec<PathBuf>,
    /// May be read and written.
    pub(crate) write: Vec<PathBuf>,
    /// May be read and executed.
    pub(crate) execute: Vec<PathBuf>,
    /// Files that are empty for the program, though what is around them may be read.
    pub(crate) hidden: Vec<PathBuf>,
}

/// What a program sees of the system: its mounts, processes and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemView {
    /// The same as everybody.
    Shared,
    /// A view of its own, by name spaces: what it may not write is read-only whatever is tried,
    /// and there are no processes but its own.
    Own,
}

/// Whether a program may execute what it, or another program, may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenPrograms {
    /// Nothing that can be written is executed.
    Refused,
    /// As the skill asks for it: such as what was just compiled. It is confined as well.
    Executed,
}

/// The resource limits that the kernel enforces on a single process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KernelLimits {
    pub(crate) address_space: u64,
    pub(crate) data: u64,
    pub(crate) file_size: u64,
    pub(crate) open_files: u64,
    pub(crate) cpu_seconds: u64,
    /// Of all that the user runs, in and out of the program. Nothing to root.
    pub(crate) tasks: u64,
}

/// The step at which a launch failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchFailure {
    /// Its limits could not be taken on.
    Confinement,
    /// The program could not be executed.
    Start,
}

impl LaunchSpec {
    /// Makes a random word that no program can guess.
    pub(crate) fn nonce() -> String {
        // Both are keyed by the system's randomness.
        let word = || RandomState::new().hash_one("launch");
        format!("{:016x}{:016x}", word(), word())
    }

    /// The line by which the launcher says that no program was started.
    pub(crate) fn failure_line(&self, failure: LaunchFailure, text: &str) -> String {
        let mark = match failure {
            LaunchFailure::Confinement => 'c',
            LaunchFailure::Start => 's',
        };
        format!("{}{mark}{}", self.nonce, text.replace('\n', " "))
    }

    /// What the launcher said on stderr, if it was the launcher.
    pub(crate) fn read_failure(&self, stderr: &[u8]) -> Option<(LaunchFailure, String)> {
        let rest = stderr.strip_prefix(self.nonce.as_bytes())?;
        let (mark, text) = rest.split_first()?;
        let failure = match mark {
            b'c' => LaunchFailure::Confinement,
            b's' => LaunchFailure::Start,
            _ => return None,
        };
        Some((failure, String::from_utf8_lossy(text).trim_end().to_owned()))
    }

    /// Encodes it as the bytes that the launcher reads.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let KernelLimits { address_space, data, file_size, open_files, cpu_seconds, tasks } =
            self.limits;
        let mut text = Vec::new();
        let mut put = |kind: &str, value: &OsStr| {
            text.extend_from_slice(kind.as_bytes());
            text.extend_from_slice(value.as_bytes());
            text.push(0);
        };
        let sandbox =
            if self.sandbox == SandboxPolicy::Required { "required" } else { "best_effort" };
        let network = if self.network == NetworkAccess::Granted { "granted" } else { "refused" };
        let view = if self.view == SystemView::Own { "own" } else { "shared" };
        let written =
            if self.written == WrittenPrograms::Executed { "executed" } else { "refused" };
        for word in [&self.nonce, sandbox, network, view, written] {
            put("", word.as_ref());
        }
        for number in [address_space, data, file_size, open_files, cpu_seconds, tasks] {
            put("", number.to_string().as_ref());
        }
        let paths =
            [("r", &self.read), ("w", &self.write), ("x", &self.execute), ("h", &self.hidden)];
        for (kind, paths) in paths {
            paths.iter().filter(|path| can_be_told(path)).for_each(|path| put(kind, path.as_ref()));
        }
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        [length.to_le_bytes().as_slice(), &text].concat()
    }

    /// Reads one from stdin, and not a byte more: the rest is the program's.
    pub(crate) fn read_from_stdin() -> io::Result<Self> {
        // Not through `io::stdin`, which reads ahead.
        Self::decode(File::from(rustix::stdio::stdin().try_clone_to_owned()?))
    }

    fn decode(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > MAX_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = vec![0; length];
        from.read_exact(&mut text)?;
        Self::parse(&text).ok_or(io::ErrorKind::InvalidData.into())
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let mut texts = text.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let mut word = || std::str::from_utf8(texts.next()?).ok();
        let nonce = word()?.to_owned();
        let sandbox = match word()? {
            "required" => SandboxPolicy::Required,
            "best_effort" => SandboxPolicy::BestEffort,
            _ => return None,
        };
        let network = match word()? {
            "granted" => NetworkAccess::Granted,
            "refused" => NetworkAccess::Refused,
            _ => return None,
        };
        let view = match word()? {
            "own" => SystemView::Own,
            "shared" => SystemView::Shared,
            _ => return None,
        };
        let written = match word()? {
            "executed" => WrittenPrograms::Executed,
            "refused" => WrittenPrograms::Refused,
            _ => return None,
        };
        let mut number = || word()?.parse().ok();
        let limits = KernelLimits {
            address_space: number()?,
            data: number()?,
            file_size: number()?,
            open_files: number()?,
            cpu_seconds: number()?,
            tasks: number()?,
        };
        let (mut read, mut write) = (Vec::new(), Vec::new());
        let (mut execute, mut hidden) = (Vec::new(), Vec::new());
        for text in texts {
            let (kind, path) = text.split_first()?;
            let list = match kind {
                b'r' => &mut read,
                b'w' => &mut write,
                b'x' => &mut execute,
                b'h' => &mut hidden,
                _ => return None,
            };
            list.push(OsString::from_vec(path.to_owned()).into());
        }
        Some(LaunchSpec {
            nonce,
            sandbox,
            network,
            view,
            written,
            limits,
            read,
            write,
            execute,
            hidden,
        })
    }
}

/// No path of a file system holds a NUL; one that does names nothing.
fn can_be_told(path: &Path) -> bool {
    !path.as_os_str().as_bytes().contains(&0)
}

#[cfg(test)]
mod tests;
