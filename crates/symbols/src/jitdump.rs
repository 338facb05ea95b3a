//! JIT code with its bytes: `jit-PID.dump`, which a runtime writes while it runs.
//!
//! Input: the bytes of a dump, nothing of them trusted. Output: which function lay where from when on, and where in the dump
//! its name, its code and its lines ([`lines`]) stand. Source: `tools/perf/Documentation/jitdump-specification.txt`, `tools/perf/util/jitdump.h`.

pub mod lines;

use std::collections::HashMap;
use std::ops::Range;

use model::Pid;
use thiserror::Error;

use crate::symbol_table::{Binding, RawSymbol};

/// `JiTD`, as a little-endian writer leaves it.
const MAGIC: [u8; 4] = *b"DTiJ";
const VERSION: u32 = 1;
/// The header's size in version 1; a longer one begins with the same fields.
const HEADER: usize = 40;
/// Bit of the header's flags: times are readings of the TSC.
const ARCH_TIMESTAMP: u64 = 1;

/// Records, and the size of what they all begin with.
const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
const CODE_DEBUG_INFO: u32 = 2;
const PREFIX: usize = 16;
/// Where the name of a loaded function stands in its record.
const NAME: usize = 56;

/// A dump holds at most so many functions; the rest is left out.
pub const MOST_LOADS: usize = 1 << 18;

/// A function came to lie somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Since when, as the dump's clock has it.
    pub time: u64,
    /// Its address (AVMA).
    pub address: u64,
    /// Where its name stands in the dump.
    pub name: Range<usize>,
    /// Where its code stands in the dump.
    pub code: Range<usize>,
    /// Where the record with its source lines stands in the dump.
    pub lines: Option<Range<usize>>,
}

impl Load {
    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.code.len() as u64)
    }
}

/// What a dump holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// Whether its times are readings of the TSC; else they are of `CLOCK_MONOTONIC`, in nanoseconds.
    pub is_tsc: bool,
    /// Each time that code was written or moved, in the order of time.
    pub loads: Vec<Load>,
    /// Where reading ended early: the first byte of a record that is not possible, or for which there is no room.
    pub broken_at: Option<usize>,
}

/// The file is no dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoDump {
    /// It begins otherwise, or was written on a big-endian machine.
    #[error("it does not begin like a jitdump of a little-endian machine")]
    Magic,
    /// It says that it has another version.
    #[error("it is a jitdump of version {0}, only 1 is known")]
    Version(u32),
}

impl Dump {
    /// Reads a dump. A record that is not possible ends it; what stands before counts.
    ///
    /// # Errors
    /// [`NoDump`] where it is none.
    pub fn parse(bytes: &[u8]) -> Result<Dump, NoDump> {
        if !bytes.starts_with(&MAGIC) || bytes.len() < HEADER {
            return Err(NoDump::Magic);
        }
        match u32_at(bytes, 4) {
            Some(VERSION) => {}
            version => return Err(NoDump::Version(version.unwrap_or(0))),
        }
        let flags = u64_at(bytes, 32).unwrap_or(0);
        let mut dump = Dump { is_tsc: flags & ARCH_TIMESTAMP != 0, ..Dump::default() };
        dump.read_records(bytes);
        dump.loads.sort_by_key(|load| load.time);
        Ok(dump)
    }

    fn read_records(&mut self, bytes: &[u8]) {
        // By the runtime's number of the function, for when it moves.
        let mut known: HashMap<u64, Load> = HashMap::new();
        // By address: the lines of functions whose code is still to come.
        let mut lines: HashMap<u64, Range<usize>> = HashMap::new();
        let mut at = u32_at(bytes, 8).map_or(HEADER, |size| (size as usize).max(HEADER));
        while at < bytes.len() {
            let size = u32_at(bytes, at + 4).map_or(0, |size| size as usize);
            let record = at.checked_add(size).and_then(|end| bytes.get(at..end));
            let Some(record) =
                record.filter(|record| record.len() >= PREFIX && self.loads.len() < MOST_LOADS)
            else {
                self.broken_at = Some(at);
                return;
            };
            let load = match u32_at(record, 0) {
                Some(CODE_LOAD) => loaded(record, at, &mut lines),
                Some(CODE_MOVE) => moved(record, &known),
                Some(CODE_DEBUG_INFO) if record.len() >= lines::HEAD && lines.len() < MOST_LOADS => {
                    lines.extend(u64_at(record, 16).map(|address| (address, at..at + size)));
                    None
                }
                // Unwinding, the end, and what later versions add.
                _ => None,
            };
            if let Some((index, load)) = load {
                known.insert(index, load.clone());
                self.loads.push(load);
            }
            at += size;
        }
    }
}

/// A function and its number; `record` begins at `at` in the file. Its `lines` stand before it.
fn loaded(record: &[u8], at: usize, lines: &mut HashMap<u64, Range<usize>>) -> Option<(u64, Load)> {
    let (time, address, size, index) =
        (u64_at(record, 8)?, u64_at(record, 32)?, u64_at(record, 40)?, u64_at(record, 48)?);
    let lines = lines.remove(&address);
    let name = memchr::memchr(0, record.get(NAME..)?)?;
    let code = NAME + name + 1;
    let end = code.checked_add(usize::try_from(size).ok()?).filter(|&end| end <= record.len())?;
    let name = at + NAME..at + NAME + name;
    let possible = end > code && address.checked_add(size).is_some();
    possible.then_some((index, Load { time, address, name, code: at + code..at + end, lines }))
}

fn moved(record: &[u8], known: &HashMap<u64, Load>) -> Option<(u64, Load)> {
    let (time, address, index) = (u64_at(record, 8)?, u64_at(record, 40)?, u64_at(record, 56)?);
    let load = known.get(&index)?;
    address.checked_add(load.code.len() as u64)?;
    Some((index, Load { time, address, ..load.clone() }))
}

/// The functions of a dump by their offsets in it; none where it is no dump.
pub(crate) fn functions(bytes: &[u8]) -> Vec<RawSymbol> {
    let loads = Dump::parse(bytes).map_or_else(|_| Vec::new(), |dump| dump.loads);
    let symbol = |Load { name, code, .. }: Load| RawSymbol {
        start: code.start as u64,
        size: code.len() as u64,
        name,
        binding: Binding::Global,
    };
    loads.into_iter().map(symbol).collect()
}

/// Whether a recorded path is a dump's, by the name that perf asks for (`jit_detect`): `jit-PID.dump`.
pub(crate) fn is_path(path: &str) -> bool {
    pid_digits(path).is_some()
}

/// The number in the name of a dump, which its process calls itself.
pub(crate) fn pid_of(path: &str) -> Option<Pid> {
    pid_digits(path)?.parse().ok().map(Pid)
}

fn pid_digits(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let pid = name.strip_prefix("jit-").and_then(|name| name.strip_suffix(".dump"))?;
    (!pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit())).then_some(pid)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests;
