//! Whether somebody who connects to this machine from itself is a program that Recto confines.
//!
//! A program that has the network reaches whatever listens here, the gateway too, which takes those
//! at its own machine for the owner. A program is not: it is run on behalf of a model. So the gateway
//! asks here who holds the other end. While no program with the network runs, which is nearly always,
//! that is a look at the command lines of processes; else the holder has to be found, and be no
//! program of ours. Where there is no `/proc`, nothing is known.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::open_files::{numbered, open_files};
use super::watch::Stat;
#[cfg(target_os = "linux")]
use crate::launch::{ENCLOSE, WITH_NETWORK};

/// Whether the peer of a connection may be a program that Recto confines, whichever Recto it is.
pub fn may_be_program(peer: SocketAddr, local: SocketAddr) -> bool {
    let programs: HashSet<u32> = process_ids().filter(|id| is_program_with_network(*id)).collect();
    if programs.is_empty() {
        return false;
    }
    match find_holder(peer, local) {
        Some(holder) => is_below(holder, &programs),
        // It has ended, or does not let itself be seen.
        None => true,
    }
}

fn process_ids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process stands around a program that has the network, or is one that nothing stands
/// around, because there are no name spaces here.
fn is_program_with_network(id: u32) -> bool {
    let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = command.split(|byte| *byte == 0).take(8).collect();
    let is_around = |pair: &[&[u8]]| pair == [ENCLOSE.as_bytes(), WITH_NETWORK.as_bytes()];
    words.windows(2).any(is_around) || is_bare_program(id)
}

/// Whether a process can gain no rights and was started by Recto itself.
fn is_bare_program(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.trim().parse::<u32>().ok())
    };
    field("NoNewPrivs:") == Some(1)
        && field("Seccomp:") == Some(2)
        && field("PPid:").is_some_and(is_recto)
}

fn is_recto(id: u32) -> bool {
    let own = std::env::current_exe().ok();
    let other = fs::read_link(format!("/proc/{id}/exe")).ok();
    let name =
        |path: &Option<std::path::PathBuf>| path.as_ref()?.file_name().map(ToOwned::to_owned);
    name(&own).is_some() && name(&own) == name(&other)
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

/// The process that holds the other end of a connection.
fn find_holder(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    let ends = [canonical(peer), canonical(local)];
    let tables = ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/net/{table}")));
    let mut lines = tables.iter().flatten().flat_map(|table| table.lines().skip(1));
    let socket = lines.find_map(|line| socket_between(line, ends))?;
    process_ids().find(|id| {
        let files = open_files(*id).unwrap_or_default();
        files.iter().any(|name| numbered(name) == Some(("socket", socket)))
    })
}

/// The number of the socket of a line, if it goes from the first to the second.
fn socket_between(line: &str, ends: [SocketAddr; 2]) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let found = [parse_end(fields.next()?)?, parse_end(fields.next()?)?];
    // One that nobody holds any more has none.
    let socket = fields.nth(6)?.parse().ok().filter(|number| *number != 0)?;
    (found == ends).then_some(socket)
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

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

    #[test]
    fn who_holds_the_other_end_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (served, peer) = listener.accept().unwrap();
        let local = served.local_addr().unwrap();
        assert_eq!(find_holder(peer, local), Some(std::process::id()));
        drop(client);
        assert_eq!(find_holder(peer, local), None, "it has hung up");
    }

    #[test]
    fn descent_is_followed() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(is_below(child.id(), &HashSet::from([own])));
        assert!(!is_below(own, &HashSet::from([child.id()])));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
