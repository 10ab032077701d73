//! Who holds the other end of a connection, as `/proc` shows it.
//!
//! Programs that have the network carry a mark that they can't take off (see `peer_mark`), so it does
//! not matter which Recto runs them, nor from which file. A socket that is held by nobody tells
//! nothing. Whoever has another user than all programs needs no further look, which matters where the
//! gateway may not look at the processes of its owner.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::PeerStanding;
use crate::launch::has_peer_mark;
use crate::process::open_files::{numbered, open_files};

pub(super) fn peer_standing(peer: SocketAddr, local: SocketAddr) -> PeerStanding {
    let users = program_users();
    let tables = ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/net/{table}")));
    if tables.iter().all(Result::is_err) {
        return PeerStanding::Other;
    }
    let ends = [canonical(peer), canonical(local)];
    let mut lines = tables.iter().flatten().flat_map(|table| table.lines().skip(1));
    let socket = lines.find_map(|line| HeldSocket::parse(line, ends));
    standing(socket, &users, holders, has_peer_mark)
}

/// What holds a socket, by all processes that have it open.
fn standing(
    socket: Option<HeldSocket>,
    program_users: &HashSet<u32>,
    holders: impl FnOnce(u64) -> Vec<u32>,
    is_program: impl Fn(u32) -> io::Result<bool>,
) -> PeerStanding {
    let Some(socket) = socket else { return PeerStanding::Unknown };
    if !program_users.contains(&socket.user) {
        return PeerStanding::Other;
    }
    let found: Vec<_> = holders(socket.number).into_iter().map(is_program).collect();
    if found.iter().flatten().any(|is_program| *is_program) {
        PeerStanding::Program
    } else if found.is_empty() || found.iter().any(Result::is_err) {
        // Who has ended meanwhile may have handed it on to another process.
        PeerStanding::Unknown
    } else {
        PeerStanding::Other
    }
}

/// All users that a program with the network is or can become.
fn program_users() -> HashSet<u32> {
    let is_program = |id: &u32| has_peer_mark(*id).unwrap_or_default();
    process_ids().filter(is_program).flat_map(process_users).collect()
}

fn process_ids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The users of a process: its own, that which counts, that which is kept, and that for files.
fn process_users(id: u32) -> Vec<u32> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect()
}

/// All processes that have a socket open.
fn holders(socket: u64) -> Vec<u32> {
    let holds = |id: &u32| {
        let files = open_files(format!("/proc/{id}").as_ref()).unwrap_or_default();
        files.iter().any(|name| numbered(name) == Some(("socket", socket)))
    };
    process_ids().filter(holds).collect()
}

/// A socket that a process has open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeldSocket {
    number: u64,
    /// The user who made it.
    user: u32,
}

impl HeldSocket {
    /// The socket of a line of `/proc/net/tcp`, if it goes from the first end to the second. One that
    /// nobody holds any more has no number.
    fn parse(line: &str, ends: [SocketAddr; 2]) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let found = [parse_end(fields.next()?)?, parse_end(fields.next()?)?];
        let user = fields.nth(4)?.parse().ok()?;
        let number = fields.nth(1)?.parse().ok().filter(|number| *number != 0)?;
        (found == ends).then_some(HeldSocket { number, user })
    }
}

/// An address as the kernel writes it, such as `0100007F:1F90`: in words of this machine's order.
fn parse_end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok();
    let address: IpAddr = match address.len() {
        8 => Ipv4Addr::from(word(0)?.to_ne_bytes()).into(),
        32 => {
            let mut bytes = [0; 16];
            for (place, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(place * 8)?.to_ne_bytes());
            }
            Ipv6Addr::from(bytes).into()
        }
        _ => return None,
    };
    Some(canonical(SocketAddr::new(address, port)))
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;

    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn ends_of_connections_are_read() {
        let end = |text| parse_end(text).map(|end| end.to_string());
        assert_eq!(end("0100007F:1F90").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(end("00000000000000000000000001000000:0050").as_deref(), Some("[::1]:80"));
        assert_eq!(
            end("0000000000000000FFFF00000100007F:0050").as_deref(),
            Some("127.0.0.1:80"),
            "one of version 4 as the newer version writes it"
        );
        assert_eq!(end("0100007F"), None);
        assert_eq!(end("é100007F:1F90"), None);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_socket_is_read_with_its_user_while_somebody_holds_it() {
        let line = |number: u64| {
            format!(
                "   1: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  \
                 1000        0 {number} 2 0000000000000000 20 4 24 10 -1"
            )
        };
        let ends = ["127.0.0.1:40000".parse().unwrap(), "127.0.0.1:8080".parse().unwrap()];
        let held = HeldSocket { number: 77, user: 1000 };
        assert_eq!(HeldSocket::parse(&line(77), ends), Some(held));
        assert_eq!(HeldSocket::parse(&line(0), ends), None);
        assert_eq!(HeldSocket::parse(&line(77), [ends[1], ends[0]]), None);
    }

    /// Promise: `programs-are-not-their-owner`
    #[test]
    fn who_has_hung_up_is_nobody_even_where_no_program_runs() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (served, peer) = listener.accept().unwrap();
        let local = served.local_addr().unwrap();
        assert_eq!(peer_standing(peer, local), PeerStanding::Other);
        drop(client);
        assert_eq!(peer_standing(peer, local), PeerStanding::Unknown);
    }

    /// Promise: `programs-are-not-their-owner`
    #[test]
    fn every_holder_is_looked_at_where_the_user_is_one_of_a_program() {
        let (owner, program, ended) = (41, 42, 43);
        let standing = |user, holders: &[u32]| {
            let socket = Some(HeldSocket { number: 77, user });
            let find = |number| {
                assert_eq!(number, 77);
                holders.to_vec()
            };
            standing(socket, &HashSet::from([1000]), find, |id| match id == ended {
                true => Err(io::ErrorKind::NotFound.into()),
                false => Ok(id == program),
            })
        };
        assert_eq!(standing(1000, &[owner]), PeerStanding::Other);
        assert_eq!(standing(1000, &[owner, program]), PeerStanding::Program);
        assert_eq!(standing(1000, &[ended, program]), PeerStanding::Program);
        assert_eq!(standing(1000, &[owner, ended]), PeerStanding::Unknown);
        assert_eq!(standing(1000, &[]), PeerStanding::Unknown);
        // One whose processes can't be looked at, and that no program is of.
        assert_eq!(standing(1001, &[]), PeerStanding::Other);
    }

    /// Promise: `programs-are-not-their-owner`
    #[test]
    fn a_program_is_known_by_its_mark_whoever_started_it() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let before = has_peer_mark(child.id()).unwrap();
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        prlimit(Some(Pid::from_child(&child)), Resource::Locks, none).unwrap();
        let marked = has_peer_mark(child.id()).unwrap();
        let users = program_users();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!before && marked);
        assert!(users.contains(&rustix::process::geteuid().as_raw()));
    }
}
