//! Other encodings of a capture: the trace, the tracepoints' samples or the switch records taken out of a copy; a stream.
//!
//! Input: a perf.data file, or the file `data` of a perf.data directory. Output: a copy. In the poorer ones nothing moved: what is taken out becomes
//! PAD packets, or records that mean nothing to perf and to us (`PERF_RECORD_FINISHED_INIT`); its attributes ask for nothing any more.
//! Layout: `perf.data-file-format.txt`, `include/uapi/linux/perf_event.h`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::captures::share_folder;

const SAMPLE: u32 = 9;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;
const AUXTRACE: u32 = 71;
const HEADER_ATTR: u32 = 64;
const HEADER_TRACING_DATA: u32 = 66;
const HEADER_BUILD_ID: u32 = 67;
const EVENT_UPDATE: u32 = 78;
const HEADER_FEATURE: u32 = 80;
const FINISHED_INIT: u32 = 82;

/// `PERF_EVENT_UPDATE__NAME`.
const EVENT_NAME: u64 = 2;
/// Feature sections: formats of tracepoints, build ids, descriptions of events.
const TRACING_DATA: u64 = 1;
const BUILD_ID: u64 = 2;
const NRCPUS: u64 = 7;
const EVENT_DESCRIPTIONS: u64 = 12;
/// Those, which have records of other kinds, the list of AUXTRACE records, and the one that makes a directory.
const NOT_IN_STREAMS: [u64; 5] = [TRACING_DATA, BUILD_ID, EVENT_DESCRIPTIONS, 18, 24];

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

/// The capture as of a machine with so many CPUs.
pub(crate) fn of_a_machine_with(cpus: u32, perf_data: &Path, to: &Path) -> PathBuf {
    copy(perf_data, to, |bytes| {
        let sections = feature_sections(bytes);
        let (_, (from, _)) = sections.iter().find(|(bit, _)| *bit == NRCPUS).expect("it has the number");
        for at in [*from, *from + 4] {
            bytes[at..at + 4].copy_from_slice(&cpus.to_le_bytes());
        }
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

/// The capture as `perf record -o -` would have written it: what a file's header says in records, then the same records.
///
/// Layout: "Pipe-mode data" in `perf.data-file-format.txt`, `tools/lib/perf/include/perf/event.h`.
pub(crate) fn stream(perf_data: &Path, to: &Path) -> PathBuf {
    let to = copy(perf_data, to, |_| {});
    let file = fs::read(to.join("data")).expect("readable");
    let mut stream = b"PERFILE2".to_vec();
    stream.extend(16_u64.to_le_bytes());
    let mut record = |kind: u32, parts: &[&[u8]]| {
        let mut body = parts.concat();
        body.resize(body.len().next_multiple_of(8), 0);
        let size = u16::try_from(8 + body.len()).expect("a record's length has 16 bits");
        stream.extend(kind.to_le_bytes());
        stream.extend([0, 0]);
        stream.extend(size.to_le_bytes());
        stream.extend(body);
    };
    let entry = usize::try_from(u64_at(&file, 16)).expect("fits");
    for at in attributes(&file) {
        let (from, end) = section(&file, at + entry - 16);
        record(HEADER_ATTR, &[&file[at..at + entry - 16], &file[from..end]]);
    }
    for (id, name) in event_names(&file) {
        record(EVENT_UPDATE, &[&EVENT_NAME.to_le_bytes(), &id.to_le_bytes(), &name, &[0]]);
    }
    let sections = feature_sections(&file);
    for (bit, (from, end)) in sections.iter().filter(|(bit, _)| !NOT_IN_STREAMS.contains(bit)) {
        record(HEADER_FEATURE, &[&bit.to_le_bytes(), &file[*from..*end]]);
    }
    if let Some((_, (from, end))) = sections.iter().find(|(bit, _)| *bit == TRACING_DATA) {
        let formats = &file[*from..*end];
        record(HEADER_TRACING_DATA, &[&u32::try_from(formats.len()).expect("fits").to_le_bytes(), &[0; 4]]);
        stream.extend_from_slice(formats);
        stream.resize(stream.len().next_multiple_of(8), 0);
    }
    // Entries of the section are such records, but that their type is not filled in.
    if let Some((_, (from, end))) = sections.iter().find(|(bit, _)| *bit == BUILD_ID) {
        let mut at = *from;
        while at < *end {
            let size = usize::from(u16::from_le_bytes([file[at + 6], file[at + 7]]));
            stream.extend(HEADER_BUILD_ID.to_le_bytes());
            stream.extend_from_slice(&file[at + 4..at + size]);
            at += size;
        }
    }
    let (from, end) = section(&file, 40);
    stream.extend_from_slice(&file[from..end]);
    fs::write(to.join("data"), stream).expect("written");
    to
}

/// The feature sections: number, from, to. Their places stand after the records.
fn feature_sections(bytes: &[u8]) -> Vec<(u64, (usize, usize))> {
    let bits = (0..256_u64).filter(|bit| {
        let word = 72 + usize::try_from(bit / 64 * 8).expect("fits");
        u64_at(bytes, word) >> (bit % 64) & 1 == 1
    });
    let (_, table) = section(bytes, 40);
    bits.zip((table..).step_by(16)).map(|(bit, at)| (bit, section(bytes, at))).collect()
}

/// An id and the name of each event, out of the section that describes them: how many, length of an attribute, then for each the
/// attribute, how many ids, a name with its length, the ids.
fn event_names(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let sections = feature_sections(bytes);
    let Some((_, (mut at, _))) = sections.into_iter().find(|(bit, _)| *bit == EVENT_DESCRIPTIONS) else {
        return Vec::new();
    };
    let number = |at: usize| u32_at(bytes, at) as usize;
    let (count, attribute) = (number(at), number(at + 4));
    at += 8;
    let mut names = Vec::new();
    for _ in 0..count {
        let (ids, length) = (number(at + attribute), number(at + attribute + 4));
        let name = &bytes[at + attribute + 8..][..length];
        at += attribute + 8 + length;
        if ids > 0 {
            let name = name.split(|&byte| byte == 0).next().unwrap_or(&[]);
            names.push((u64_at(bytes, at), name.to_vec()));
        }
        at += ids * 8;
    }
    names
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
