//! Poorer encodings of a capture: the trace, the tracepoints' samples or the switch records taken out of a copy.
//!
//! Input: a perf.data file, or the file `data` of a perf.data directory. Output: a copy in which nothing moved. What is taken out becomes PAD packets, or
//! records that mean nothing to perf and to us (`PERF_RECORD_FINISHED_INIT`); its attributes ask for nothing any more.
//! Layout: `perf.data-file-format.txt`, `include/uapi/linux/perf_event.h`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::captures::share_folder;

const SAMPLE: u32 = 9;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;
const AUXTRACE: u32 = 71;
const FINISHED_INIT: u32 = 82;

const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACEPOINT: u32 = 2;
const SOFTWARE_DUMMY: u64 = 9;
/// The flag `context_switch` in the bit field at byte 40 of an attribute.
const CONTEXT_SWITCH: u64 = 1 << 26;

/// A perf.data directory of its own with the kernel of `perf_data`, if it has one, and what `change` makes of its file.
pub(crate) fn copy(perf_data: &Path, to: &Path, change: impl Fn(&mut [u8])) -> PathBuf {
    let file = if perf_data.is_dir() { perf_data.join("data") } else { perf_data.to_owned() };
    let mut bytes = fs::read(file).expect("readable");
    change(&mut bytes);
    fs::create_dir_all(to).expect("a folder");
    let kernel = perf_data.join("kcore_dir");
    if kernel.is_dir() {
        share_folder(&kernel, &to.join("kcore_dir"));
    }
    fs::write(to.join("data"), bytes).expect("written");
    to.to_owned()
}

/// The capture with PAD packets alone in its AUX buffers.
pub(crate) fn without_trace(perf_data: &Path, to: &Path) -> PathBuf {
    copy(perf_data, to, |bytes| {
        let mut lost = 0;
        for (place, kind, size) in records(bytes) {
            if kind == AUXTRACE {
                let length = usize::try_from(u64_at(bytes, place + 8)).expect("fits");
                bytes[place + size..place + size + length].fill(0);
                lost += length;
            }
        }
        assert!(lost > 100_000, "{lost} bytes of trace");
    })
}

/// The capture without samples of tracepoints.
pub(crate) fn without_tracepoints(perf_data: &Path, to: &Path) -> PathBuf {
    copy(perf_data, to, |bytes| {
        let taken = take_out(bytes, &[SAMPLE]);
        assert!(taken > 100, "{taken} samples");
        for attr in attributes(bytes) {
            if u32_at(bytes, attr) == TYPE_TRACEPOINT {
                bytes[attr..attr + 4].copy_from_slice(&TYPE_SOFTWARE.to_le_bytes());
                bytes[attr + 8..attr + 16].copy_from_slice(&SOFTWARE_DUMMY.to_le_bytes());
            }
        }
    })
}

/// The capture without switch records.
pub(super) fn without_switches(perf_data: &Path, to: &Path) -> PathBuf {
    copy(perf_data, to, |bytes| {
        let taken = take_out(bytes, &[SWITCH, SWITCH_CPU_WIDE]);
        assert!(taken > 10, "{taken} switches");
        for attr in attributes(bytes) {
            let flags = u64_at(bytes, attr + 40) & !CONTEXT_SWITCH;
            bytes[attr + 40..attr + 48].copy_from_slice(&flags.to_le_bytes());
        }
    })
}

fn take_out(bytes: &mut [u8], kinds: &[u32]) -> usize {
    let unwanted: Vec<usize> = records(bytes)
        .into_iter()
        .filter(|(_, kind, _)| kinds.contains(kind))
        .map(|(place, ..)| place)
        .collect();
    for &place in &unwanted {
        bytes[place..place + 4].copy_from_slice(&FINISHED_INIT.to_le_bytes());
    }
    unwanted.len()
}

/// Place, type and size of each record; of AUXTRACE without the PT bytes after it.
fn records(bytes: &[u8]) -> Vec<(usize, u32, usize)> {
    let (mut place, end) = section(bytes, 40);
    let mut found = Vec::new();
    while place < end {
        let (kind, size) =
            (u32_at(bytes, place), usize::from(u16::from_le_bytes([bytes[place + 6], bytes[place + 7]])));
        found.push((place, kind, size));
        place += size;
        if kind == AUXTRACE {
            place += usize::try_from(u64_at(bytes, place - size + 8)).expect("fits");
        }
    }
    found
}

/// Where each attribute begins.
fn attributes(bytes: &[u8]) -> Vec<usize> {
    let (from, end) = section(bytes, 24);
    let size = usize::try_from(u64_at(bytes, 16)).expect("fits");
    (from..end).step_by(size).collect()
}

/// The section {offset, size} that the file's header names at `place`: from, to.
fn section(bytes: &[u8], place: usize) -> (usize, usize) {
    let number = |at| usize::try_from(u64_at(bytes, at)).expect("fits");
    (number(place), number(place) + number(place + 8))
}

fn u32_at(bytes: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(bytes[place..place + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(bytes[place..place + 8].try_into().expect("eight bytes"))
}
