//! Reads the file that `tailtrace.h` writes, by docs/interval-file.md, "Binary marks". Every record must be right.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::{BTreeMap, HashMap};
use std::io::{BufReader, Read};
use std::path::Path;

const LINE: &str = "# tailtrace-intervals 1 clock=tsc form=binary";

/// One mark.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) kind: &'static str,
    pub(crate) label: String,
    pub(crate) at: u64,
    pub(crate) key: Option<u64>,
    pub(crate) pid: u64,
    pub(crate) tid: u64,
    pub(crate) name: String,
    pub(crate) value: Option<i64>,
}

/// A whole file.
#[derive(Default)]
pub(crate) struct IntervalFile {
    /// In the order of the file.
    pub(crate) marks: Vec<Mark>,
    /// Readings of the TSC and the clock, by clock.
    pub(crate) pairs: BTreeMap<&'static str, Vec<(u64, u64)>>,
    /// Marks in the file, then losses by reason.
    pub(crate) totals: [u64; 8],
    pub(crate) closed: bool,
    /// Losses that stand among the marks.
    pub(crate) noted: u64,
}

fn words(record: &[u8]) -> [u64; 3] {
    [0, 8, 16].map(|at| u64::from_le_bytes(record[at..at + 8].try_into().unwrap()))
}

/// Checks the first line: 64 bytes, filled up with blanks.
fn check_line(line: &[u8]) {
    assert_eq!(std::str::from_utf8(line).unwrap(), format!("{LINE:<63}\n"));
}

pub(crate) fn read(path: &Path) -> IntervalFile {
    let bytes = std::fs::read(path).unwrap();
    let (line, records) = bytes.split_at(64);
    check_line(line);
    assert_eq!(records.len() % 24, 0, "records are written whole");
    let mut records = records.chunks(24);
    let mut file = IntervalFile::default();
    let (mut texts, mut thread) = (HashMap::<u64, String>::new(), None);
    while let Some(record) = records.next() {
        let [a, b, c] = words(record);
        let (kind, low) = (record[23], c << 8 >> 8);
        match kind {
            1..=5 | 14..=16 => {
                let (pid, tid) = thread.unwrap();
                let kind = match kind {
                    14.. => ["run", "ready", "await"][usize::from(kind) - 14],
                    _ => ["begin", "end", "stage", "counter", "publish"][usize::from(kind) - 1],
                };
                let key = (b != u64::MAX).then_some(b);
                let label = texts[&low].clone();
                let mut mark = Mark { kind, label, at: a, key, pid, tid, name: String::new(), value: None };
                if matches!(kind, "stage" | "counter") {
                    let name = records.next().unwrap();
                    assert_eq!(name[23], 6);
                    mark.name.clone_from(&texts[&(words(name)[2] << 8 >> 8)]);
                    mark.value = (kind == "counter").then_some(words(name)[0].cast_signed());
                }
                file.marks.push(mark);
            }
            7 => file.noted += b,
            8 => thread = Some((a & 0xffff_ffff, a >> 32)),
            9 => {
                let length = usize::try_from(b).unwrap();
                let mut text = Vec::new();
                while text.len() < length {
                    let more = records.next().unwrap();
                    assert_eq!(more[23], 10);
                    text.extend_from_slice(&more[..23]);
                }
                texts.insert(a, String::from_utf8(text[..length].to_vec()).unwrap());
            }
            11 => {
                let clock = match low >> 48 {
                    0 => "realtime",
                    1 => "monotonic",
                    4 => "monotonic-raw",
                    other => panic!("clock {other}"),
                };
                file.pairs.entry(clock).or_default().push((a, b));
            }
            12 => {
                file.totals[usize::try_from(low).unwrap()] = a;
                file.closed |= b == 1;
            }
            other => panic!("a record of kind {other}"),
        }
    }
    file
}

/// The totals of a file, and how many marks it holds, without keeping them.
pub(crate) fn totals_and_marks(path: &Path) -> ([u64; 8], u64) {
    let mut file = BufReader::with_capacity(1 << 20, std::fs::File::open(path).unwrap());
    let (mut line, mut record) = ([0; 64], [0; 24]);
    file.read_exact(&mut line).unwrap();
    check_line(&line);
    let (mut totals, mut marks) = ([0; 8], 0);
    while file.read_exact(&mut record).is_ok() {
        match record[23] {
            1..=5 => marks += 1,
            12 => totals[usize::try_from(words(&record)[2] << 8 >> 8).unwrap()] = words(&record)[0],
            _ => {}
        }
    }
    (totals, marks)
}
