//! The mark by which a program that has the network, and the program of an MCP server, is known
//! from outside, whoever runs it and whatever has become of that one's file.
//!
//! It is a resource limit on a number that the kernel does not count any more, that of locks on
//! files. Everybody can read it in `/proc`, it stays with all that a process starts, and a limit
//! of none at all can neither be lowered nor, by a confined program, be raised. Nothing else sets it.

use std::{fs, io};

use rustix::process::{Resource, Rlimit, setrlimit};

/// Marks this process and all that come of it.
pub(super) fn leave_peer_mark() -> rustix::io::Result<()> {
    setrlimit(Resource::Locks, Rlimit { current: Some(0), maximum: Some(0) })
}

/// Whether a process has the mark. One that has ended, or can't be looked at, is an error.
pub(crate) fn has_peer_mark(id: u32) -> io::Result<bool> {
    fs::read_to_string(format!("/proc/{id}/limits")).map(|limits| is_in(&limits))
}

/// The line is `Max file locks  unlimited  unlimited  locks`: what holds, and how far a process
/// may raise that.
fn is_in(limits: &str) -> bool {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"));
    line.and_then(|rest| rest.split_ascii_whitespace().nth(1)) == Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_read() {
        let limits = |locks: &str| {
            format!("Limit  Soft Limit  Hard Limit  Units\nMax file locks  {locks}  locks\n")
        };
        assert!(is_in(&limits("0   0")));
        for other in ["unlimited unlimited", "0 unlimited", "0 10", ""] {
            assert!(!is_in(&limits(other)), "{other}");
        }
        assert!(!is_in("Max core file size  0  0  bytes\n"));
        assert!(!has_peer_mark(std::process::id()).unwrap());
        assert!(has_peer_mark(0).is_err());
    }
}
