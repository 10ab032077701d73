//! Who holds the other end of a connection, as `/proc` shows it.
//!
//! Programs are listed first and the socket is looked up after that. A socket that is held then was
//! held when they were listed, so a program that holds it is among them; and one whose program has
//! ended is held by nobody, and tells nothing. Whoever has another user than all programs needs no
//! further look, which matters where the gateway may not look at the processes of its owner.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use super::PeerStanding;
use crate::launch::{ENCLOSE, REAP, WITH_NETWORK};
use crate::process::open_files::{numbered, open_files};
use crate::process::watch::Stat;
use crate::sandbox::{ViewGuard, guards};

pub(super) fn peer_standing(peer: SocketAddr, local: SocketAddr) -> PeerStanding {
    let programs = RunningPrograms::list();
    let tables = ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/net/{table}")));
    if tables.iter().all(Result::is_err) {
        return PeerStanding::Other;
    }
    let ends = [canonical(peer), canonical(local)];
    let mut lines = tables.iter().flatten().flat_map(|table| table.lines().skip(1));
    let socket = lines.find_map(|line| HeldSocket::parse(line, ends));
    programs.standing(socket, holders)
}

/// The programs that have the network: the processes around them, and those that nothing stands
/// around, because there are no name spaces here.
#[derive(Debug, Default)]
struct RunningPrograms {
    processes: HashSet<u32>,
    /// All users that one of them is or can become.
    users: HashSet<u32>,
}

impl RunningPrograms {
    fn list() -> Self {
        let are_bare = guards().view == ViewGuard::Missing;
        let mut programs = RunningPrograms::default();
        for id in process_ids() {
            if is_around_program(id) || (are_bare && is_bare_program(id)) {
                programs.users.extend(process_users(id));
                programs.processes.insert(id);
            }
        }
        programs
    }

    /// What holds a socket, by all processes that have it open.
    fn standing(
        &self,
        socket: Option<HeldSocket>,
        holders: impl FnOnce(u64) -> Vec<u32>,
    ) -> PeerStanding {
        let Some(socket) = socket else { return PeerStanding::Unknown };
        if !self.users.contains(&socket.user) {
            return PeerStanding::Other;
        }
        let holders = holders(socket.number);
        match holders.iter().any(|holder| is_below(*holder, &self.processes)) {
            true => PeerStanding::Program,
            false if holders.is_empty() => PeerStanding::Unknown,
            false => PeerStanding::Other,
        }
    }
}

fn process_ids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process is one of Recto's own that stand around a program: outside of its name spaces,
/// or as the first inside, which outlives the other for a moment where that is killed.
fn is_around_program(id: u32) -> bool {
    let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = command.split(|byte| *byte == 0).take(8).collect();
    let is_outside = |pair: &[&[u8]]| pair == [ENCLOSE.as_bytes(), WITH_NETWORK.as_bytes()];
    words.windows(2).any(is_outside) || words.get(1) == Some(&REAP.as_bytes())
}

/// Whether a process can gain no rights and was started by Recto itself.
fn is_bare_program(id: u32) -> bool {
    let status = process_status(id);
    let field = |name: &str| status_numbers(&status, name).next();
    field("NoNewPrivs:") == Some(1)
        && field("Seccomp:") == Some(2)
        && field("PPid:").is_some_and(is_recto)
}

fn is_recto(id: u32) -> bool {
    let own = std::env::current_exe().ok();
    let other = fs::read_link(format!("/proc/{id}/exe")).ok();
    let name = |path: &Option<PathBuf>| path.as_ref()?.file_name().map(ToOwned::to_owned);
    name(&own).is_some() && name(&own) == name(&other)
}

/// The users of a process: its own, that which counts, that which is kept, and that for files.
fn process_users(id: u32) -> Vec<u32> {
    status_numbers(&process_status(id), "Uid:").collect()
}

fn process_status(id: u32) -> String {
    fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default()
}

/// The numbers behind a name in the status of a process.
fn status_numbers<'a>(status: &'a str, name: &str) -> impl Iterator<Item = u32> + use<'a> {
    let rest = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    rest.split_ascii_whitespace().map_while(|word| word.parse().ok())
}

/// Whether a process, or the leader of its group, descends from one of these.
fn is_below(id: u32, ancestors: &HashSet<u32>) -> bool {
    /// A longer line of ancestors is none that we know.
    const MOST_STEPS: usize = 64;
    let stat = |id: u32| fs::read(format!("/proc/{id}/stat")).ok().and_then(|it| Stat::parse(&it));
    let leader = stat(id).map(|stat| stat.group);
    [Some(id), leader].into_iter().flatten().any(|start| {
        let line = std::iter::successors(Some(start), |id| stat(*id).map(|stat| stat.parent));
        line.take(MOST_STEPS).any(|id| ancestors.contains(&id))
    })
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
    use std::process::{Child, Command};

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
        let (own, mut child) = (std::process::id(), Sleeper::start());
        let programs = RunningPrograms {
            processes: HashSet::from([child.0.id()]),
            users: HashSet::from([1000]),
        };
        let socket = |user| Some(HeldSocket { number: 77, user });
        let standing = |user, holders: &[u32]| {
            programs.standing(socket(user), |number| {
                assert_eq!(number, 77);
                holders.to_vec()
            })
        };
        assert_eq!(standing(1000, &[own]), PeerStanding::Other);
        assert_eq!(standing(1000, &[own, child.0.id()]), PeerStanding::Program);
        assert_eq!(standing(1000, &[]), PeerStanding::Unknown);
        // One whose processes can't be looked at, and that no program is of.
        assert_eq!(standing(1001, &[]), PeerStanding::Other);
        child.end();
    }

    #[test]
    fn descent_is_followed_and_users_are_read() {
        let (own, mut child) = (std::process::id(), Sleeper::start());
        assert!(is_below(child.0.id(), &HashSet::from([own])));
        assert!(!is_below(own, &HashSet::from([child.0.id()])));
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(process_users(child.0.id()), [user; 4]);
        child.end();
    }

    /// A process that does nothing.
    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Self {
            Sleeper(Command::new("sleep").arg("60").spawn().unwrap())
        }

        fn end(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }
}
