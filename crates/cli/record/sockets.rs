//! Names of sockets by their inode: protocol and addresses, as the kernel lists them for a network namespace.
//!
//! Source: `Documentation/networking/proc_net_tcp.rst` (addresses in hexadecimal, each four bytes in the machine's order, the port in
//! the network's), proc(5), `/proc/net/unix`.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The state of a socket that listens (`TCP_LISTEN`).
const LISTENS: &str = "0A";
/// Most sockets whose names are kept.
const MOST: usize = 100_000;

/// Sockets that were looked for.
pub(super) struct Sockets {
    /// `/proc`.
    proc: PathBuf,
    /// By inode; `None` of one that no list has.
    known: HashMap<u64, Option<String>>,
}

impl Sockets {
    /// None was looked for yet; processes are below `proc`.
    pub(super) fn of(proc: &Path) -> Sockets {
        Sockets { proc: proc.to_owned(), known: HashMap::new() }
    }

    /// What the socket `inode` of process `pid` is called; `None` where it has no address.
    pub(super) fn name(&mut self, pid: i32, inode: u64) -> Option<String> {
        if !self.known.contains_key(&inode) && self.known.len() < MOST {
            let folder = self.proc.join(format!("{pid}/net"));
            // Later ones of this process are in the same lists.
            for (list, protocol) in [("tcp", "TCP"), ("tcp6", "TCP"), ("udp", "UDP"), ("udp6", "UDP")] {
                let text = fs::read_to_string(folder.join(list)).unwrap_or_default();
                self.known.extend(internet(&text, protocol).map(|(inode, name)| (inode, Some(name))));
            }
            let text = fs::read_to_string(folder.join("unix")).unwrap_or_default();
            self.known.extend(unix(&text).map(|(inode, name)| (inode, Some(name))));
            self.known.entry(inode).or_insert(None);
        }
        self.known.get(&inode).cloned().flatten()
    }
}

/// Inodes and names in a list of TCP or UDP sockets.
fn internet<'t>(text: &'t str, protocol: &'t str) -> impl Iterator<Item = (u64, String)> + 't {
    text.lines().skip(1).filter_map(move |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (local, remote) = (address(words.get(1)?)?, address(words.get(2)?)?);
        let inode = words.get(9)?.parse().ok()?;
        let rest = match *words.get(3)? {
            LISTENS => ", listening".to_owned(),
            _ if remote.port() == 0 => String::new(),
            _ => format!(" to {remote}"),
        };
        Some((inode, format!("{protocol} {local}{rest}")))
    })
}

/// `0100007F:1F90` is `127.0.0.1:8080`.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words: Option<Vec<[u8; 4]>> = (0..address.len() / 8)
        .map(|at| Some(u32::from_str_radix(address.get(8 * at..8 * at + 8)?, 16).ok()?.to_ne_bytes()))
        .collect();
    let ip = match words?.as_flattened() {
        bytes @ [_, _, _, _] => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        bytes => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical(),
    };
    Some(SocketAddr::new(ip, port))
}

/// Inodes and names in the list of Unix sockets: of those that have a path.
fn unix(text: &str) -> impl Iterator<Item = (u64, String)> + '_ {
    text.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace();
        let inode = words.nth(6)?.parse().ok()?;
        Some((inode, format!("Unix {}", words.next()?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a kernel's lists; ports and addresses worked out by hand.
    #[test]
    fn lists_of_the_kernel() {
        let tcp = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             \x20  0: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000   106        0 1234 1\n\
             \x20  1: 0300000A:A03E 0700000A:1538 01 00000000:00000000 00:00000000 00000000     0        0 99 1\n\
             \x20  2: broken\n";
        let found: Vec<_> = internet(tcp, "TCP").collect();
        let expected = [(1234, "TCP 127.0.0.1:6379, listening"), (99, "TCP 10.0.0.3:41022 to 10.0.0.7:5432")];
        assert_eq!(found, expected.map(|(inode, name)| (inode, name.to_owned())));
        let wide = "head\n 0: 00000000000000000000000001000000:0035 00000000000000000000000000000000:0000 07 0:0 0:0 0 0 0 5\n";
        assert_eq!(internet(wide, "UDP").collect::<Vec<_>>(), [(5, "UDP [::1]:53".to_owned())]);
        let local = "Num RefCount Protocol Flags Type St Inode Path\n\
             0000: 00000002 00000000 00010000 0001 01 77 /run/app.sock\n0000: 00000003 00000000 00000000 0001 03 78\n";
        assert_eq!(unix(local).collect::<Vec<_>>(), [(77, "Unix /run/app.sock".to_owned())]);
        for wrong in ["", ":", "7F:1", "0100007F:10000", "zz00007F:1"] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }
}
