//! Found calls as a file, because finding them takes a decode of all of the capture.
//!
//! Input and output: `FOLDER/calls-HASH`, a hash of the capture's path and the symbol. It holds what it was made from (size and
//! time of the capture, the symbol, its entry addresses) and a checksum; a file that does not match in all of that is as good as
//! none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use model::{ThreadId, Tsc, TscRange};

use super::sink::EntryPoint;
use super::{Call, FoundCalls};

const MAGIC: &[u8; 8] = b"ttcalls3";

/// How the names of all such files begin.
pub const NAME: &str = "calls-";

/// Bytes of one call: start, stop, pid, tid, flags.
const CALL_SIZE: usize = 8 + 8 + 4 + 4 + 8;
const HAS_THREAD: u64 = 1;
const CROSSED_GAP: u64 = 2;

/// Where the calls of one function in one capture are kept.
#[derive(Clone, Debug)]
pub struct MarkCache {
    path: PathBuf,
    identity: Vec<u8>,
}

impl MarkCache {
    /// The cache in `folder` of `symbol` with these entries in `capture` (a file, or a perf.data directory).
    ///
    /// # Errors
    /// The operating system's, where the capture cannot be looked at.
    pub fn new(folder: &Path, capture: &Path, symbol: &str, entries: &[EntryPoint]) -> io::Result<MarkCache> {
        let records = if capture.is_dir() { capture.join("data") } else { capture.to_owned() };
        let metadata = fs::metadata(records)?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut identity = MAGIC.to_vec();
        identity.extend(metadata.len().to_le_bytes());
        identity.extend(modified.as_nanos().to_le_bytes());
        identity.extend((symbol.len() as u64).to_le_bytes());
        identity.extend(symbol.as_bytes());
        identity.extend((entries.len() as u64).to_le_bytes());
        for entry in entries {
            identity.extend(entry.ip.to_le_bytes());
            identity.extend(entry.pid.map_or(i32::MIN, |pid| pid.0).to_le_bytes());
        }
        let mut of = fs::canonicalize(capture)?.into_os_string().into_encoded_bytes();
        of.push(0);
        of.extend(symbol.as_bytes());
        Ok(MarkCache { path: folder.join(format!("{NAME}{:016x}", checksum(&of))), identity })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What an earlier run found; `None` where there is nothing, or nothing that fits.
    pub fn load(&self) -> Option<FoundCalls> {
        // A pipe would wait for a writer; what lies under /proc says that it is empty.
        let found = self.path.metadata().ok().filter(|found| found.is_file() && found.len() > 0);
        let bytes = found.and_then(|_| fs::read(&self.path).ok())?;
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
        if checksum(content).to_le_bytes() != sum {
            return None;
        }
        let rest = content.strip_prefix(self.identity.as_slice())?;
        let (unfinished, calls) = rest.split_at_checked(8)?;
        if calls.len() % CALL_SIZE != 0 {
            return None;
        }
        let calls = calls.chunks_exact(CALL_SIZE).map(read_call).collect::<Option<Vec<Call>>>()?;
        Some(FoundCalls { calls, unfinished: word(unfinished, 0)? })
    }

    /// The file's contents that keep `found`.
    pub fn contents(&self, found: &FoundCalls) -> Vec<u8> {
        let mut bytes = self.identity.clone();
        bytes.extend(found.unfinished.to_le_bytes());
        bytes.reserve(found.calls.len() * CALL_SIZE + 8);
        for call in &found.calls {
            write_call(call, &mut bytes);
        }
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes
    }
}

fn write_call(call: &Call, bytes: &mut Vec<u8>) {
    let thread = call.thread.unwrap_or(ThreadId::new(0, 0));
    let flags =
        if call.thread.is_some() { HAS_THREAD } else { 0 } | if call.crossed_gap { CROSSED_GAP } else { 0 };
    bytes.extend(call.range.start.0.to_le_bytes());
    bytes.extend(call.range.stop.0.to_le_bytes());
    bytes.extend(thread.pid.0.to_le_bytes());
    bytes.extend(thread.tid.0.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
}

fn read_call(bytes: &[u8]) -> Option<Call> {
    let half = |at: usize| Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let flags = word(bytes, 24)?;
    Some(Call {
        range: TscRange::new(Tsc(word(bytes, 0)?), Tsc(word(bytes, 8)?)),
        thread: (flags & HAS_THREAD != 0).then_some(ThreadId::new(half(16)?, half(20)?)),
        crossed_gap: flags & CROSSED_GAP != 0,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// FNV-1a, 64 bits: against accidents, not against malice.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
