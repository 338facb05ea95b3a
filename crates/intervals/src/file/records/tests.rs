//! Binary marks by hand, damaged, cut off, and against the same marks as text.

use std::path::Path;

use model::{Diagnostic, Interval, Phase, Stage, TscRange};
use proptest::prelude::*;

use super::*;
use crate::{Clocks, IntervalSet, MarkLosses, read_intervals};

/// The bytes of a file in the making.
struct Written(Vec<u8>);

impl Written {
    fn new() -> Written {
        Written(format!("{:<63}\n", "# tailtrace-intervals 1 clock=tsc form=binary").into_bytes())
    }

    fn put(mut self, kind: u8, at: u64, key: u64, what: u64) -> Written {
        for word in [at, key, what | u64::from(kind) << 56] {
            self.0.extend(word.to_le_bytes());
        }
        self
    }

    fn thread(self, tid: u64) -> Written {
        self.put(kind::THREAD, tid << 32 | 0x76, 0, 0)
    }

    fn text(self, address: u64, text: &[u8]) -> Written {
        let mut written = self.put(kind::TEXT, address, text.len() as u64, 0);
        for part in text.chunks(TEXT_BYTES) {
            let mut record = [0; MARK_BYTES];
            record[..part.len()].copy_from_slice(part);
            record[TEXT_BYTES] = kind::BYTES;
            written.0.extend(record);
        }
        written
    }

    /// The file so far, of two threads and one label at address 7.
    fn begun() -> Written {
        Written::new().text(7, b"order").thread(120)
    }

    fn read(&self) -> IntervalSet {
        read(&self.0)
    }
}

fn read(bytes: &[u8]) -> IntervalSet {
    read_intervals(Path::new("x.marks"), bytes, &Clocks::default()).expect("a usable first line")
}

fn ranges(set: &IntervalSet) -> Vec<(u64, u64)> {
    set.intervals.iter().map(|interval| (interval.range.start.0, interval.range.stop.0)).collect()
}

/// Where the diagnostics are, and what they say.
fn said(set: &IntervalSet) -> Vec<(Option<u64>, &str)> {
    let of = |diagnostic: &Diagnostic| diagnostic.place.file_offset.map(|offset| offset.0);
    set.diagnostics.iter().map(|diagnostic| (of(diagnostic), diagnostic.what.as_str())).collect()
}

#[test]
fn marks_of_every_kind() {
    let set = Written::begun()
        .text(8, "a label, with \"quotes\",\na line break and ä".as_bytes())
        .text(9, b"parse")
        .text(10, b"bytes")
        .put(kind::BEGIN, 100, 5, 8)
        .put(kind::STAGE, 110, 5, 8)
        .put(kind::NAME, 0, 0, 9)
        .put(kind::COUNTER, 120, 5, 8)
        .put(kind::NAME, 512u64.wrapping_neg(), 0, 10)
        .put(kind::PUBLISH, 130, 5, 8)
        .put(kind::BEGIN, 140, NO_KEY, 7)
        .put(kind::END, 150, NO_KEY, 7)
        .thread(121)
        .put(kind::END, 160, 5, 8)
        .put(kind::CLOCK_PAIR, 90, 1000, 4 << 48 | 0x14)
        .read();
    assert_eq!(set.diagnostics, []);
    assert_eq!(set.losses, MarkLosses { lost: 0, kept: 7 });
    let [long, short] = set.intervals.as_slice() else { panic!("two intervals") };
    assert_eq!(long.label, "a label, with \"quotes\",\na line break and ä");
    assert_eq!((long.key.as_deref(), long.range.start.0, long.range.stop.0), (Some("5"), 100, 160));
    assert_eq!(long.start_thread, Some(ThreadId::new(118, 120)));
    assert_eq!(long.stop_thread, Some(ThreadId::new(118, 121)));
    assert_eq!(long.stages, [Stage { name: "parse".to_owned(), start: Tsc(110) }]);
    assert_eq!(long.counters, [Counter { name: "bytes".to_owned(), value: (-512i64).into() }]);
    assert_eq!(long.publish, Some(Tsc(130)));
    assert_eq!((short.label.as_str(), ranges(&set)[1]), ("order", (140, 150)));
}

#[test]
fn phases_of_a_task() {
    let set = Written::begun()
        .put(kind::BEGIN, 100, 5, 7)
        .put(kind::RUN, 100, 5, 7)
        .put(kind::AWAIT, 110, 5, 7)
        .thread(121)
        .put(kind::READY, 120, 5, 7)
        .put(kind::RUN, 130, 5, 7)
        .put(kind::RUN, 131, NO_KEY, 7)
        .put(kind::END, 150, 5, 7)
        .read();
    let said = said(&set);
    assert!(said.len() == 1 && said[0].1.contains("only a key"), "{said:?}");
    let phase = |kind, tid, start, stop| Phase {
        kind,
        thread: Some(ThreadId::new(118, tid)),
        range: TscRange::new(Tsc(start), Tsc(stop)),
    };
    let expected = [
        phase(PhaseKind::Run, 120, 100, 110),
        phase(PhaseKind::Await, 120, 110, 120),
        phase(PhaseKind::Ready, 121, 120, 130),
        phase(PhaseKind::Run, 121, 130, 150),
    ];
    assert_eq!(set.intervals[0].phases, expected);
}

#[test]
fn a_label_is_what_was_said_last_and_cut_within_a_character() {
    let long = [b"x".repeat(199), "ä".as_bytes()[..1].to_vec()].concat();
    let pair =
        |written: Written, at| written.put(kind::BEGIN, at, NO_KEY, 7).put(kind::END, at + 1, NO_KEY, 7);
    let set = pair(pair(Written::begun(), 1).text(7, &long), 3);
    let set = pair(set.text(7, b""), 5).read();
    let labels: Vec<&str> = set.intervals.iter().map(|interval| interval.label.as_str()).collect();
    assert_eq!(labels, ["order", &"x".repeat(199), "interval"]);
}

/// The first line has 64 bytes, a string of five two records, a thread one: the damaged record begins at byte 160.
#[test]
fn damage_is_named_by_its_byte_and_the_rest_is_read() {
    let begun = || Written::begun().put(kind::BEGIN, 1, NO_KEY, 7);
    let set = begun()
        .put(77, 0, 0, 0)
        .put(kind::BEGIN, 2, NO_KEY, 7)
        .thread(120)
        .put(kind::END, 4, NO_KEY, 7)
        .put(kind::BEGIN, 5, NO_KEY, 7)
        .put(kind::END, 6, NO_KEY, 7)
        .read();
    assert_eq!(ranges(&set), [(5, 6)], "no pair across the damage");
    let said = said(&set);
    assert_eq!(said[0], (Some(160), "a record of kind 77, which there is none of: it is left out"));
    assert_eq!(said[1], (Some(184), "a damaged record hides its thread: the marker is left out"));
    assert_eq!(set.diagnostics[0].place.file.as_deref(), Some("x.marks"));
    assert_eq!(set.losses, MarkLosses { lost: 2, kept: 4 });
    for (record, what) in [
        ((kind::NAME, 0, 0, 7), "a name without its marker"),
        ((kind::BYTES, 0, 0, 0), "a part of a string without its beginning"),
        ((kind::TEXT, 8, 201, 0), "a string of 201 bytes"),
        ((kind::TEXT, 8, 24, 0), "a string of 24 bytes, of which 0 follow"),
        ((kind::STAGE, 2, NO_KEY, 7), "a stage or counter without its name"),
        ((kind::THREAD, u64::MAX, 0, 0), "pid and tid"),
        ((kind::CLOCK_PAIR, 1, 1, 9 << 48), "a clock pair of clock 9"),
        ((kind::BEGIN, 2, NO_KEY, 99), "no record says what its label is"),
        ((0, 0, 0, 0), "a record of kind 0"),
    ] {
        let (kind, at, key, what_is) = record;
        let set = begun().put(kind, at, key, what_is).thread(120).put(kind::END, 4, NO_KEY, 7).read();
        assert_eq!(ranges(&set), [], "{what}");
        assert!(set.diagnostics[0].what.contains(what), "{what}: {:?}", set.diagnostics[0]);
        assert_eq!(set.diagnostics[0].place.file_offset.map(|at| at.0), Some(160), "{what}");
        assert_eq!(set.losses.lost, 1, "{what}");
    }
}

#[test]
fn losses_are_counted_by_their_totals_and_close_what_is_open() {
    let totals = |closed, counts: [u64; 8]| {
        let put = |written: Written, (reason, count): (usize, &u64)| {
            written.put(kind::TOTAL, *count, closed, reason as u64)
        };
        counts.iter().enumerate().fold(Written::new(), put)
    };
    let marks = |written: Written| {
        written
            .text(7, b"order")
            .thread(120)
            .put(kind::BEGIN, 1, NO_KEY, 7)
            .put(kind::LOST, 2, 5, 1 << 48 | 3)
            .put(kind::BEGIN, 4, NO_KEY, 7)
            .put(kind::END, 6, NO_KEY, 7)
    };
    let set = marks(totals(1, [3, 5, 0, 0, 8, 0, 0, 1])).read();
    assert_eq!((ranges(&set), set.losses), (vec![], MarkLosses { lost: 14, kept: 3 }));
    let lost: Vec<&str> = said(&set)
        .into_iter()
        .map(|(_, what)| what)
        .filter(|what| what.contains("markers were lost:"))
        .collect();
    assert_eq!(
        lost,
        [
            "5 markers were lost: their thread's buffer was full: they came faster than they can be written",
            "8 markers were lost: the file could not be written: the disk may have been full",
            "1 markers were lost: they came after the file was closed",
        ]
    );
    // Two marks of five are not there; the program had not closed the file, and had lost more by its end.
    assert_eq!(marks(totals(1, [5, 5, 0, 0, 0, 0, 0, 0])).read().losses.lost, 7);
    let open = marks(totals(0, [1, 2, 0, 0, 0, 0, 0, 0])).read();
    assert_eq!(open.losses.lost, 5);
    assert!(said(&open).iter().any(|(_, what)| what.contains("without closing")), "{:?}", said(&open));
}

#[test]
fn what_could_not_be_written_was_of_any_thread() {
    let set = Written::begun()
        .put(kind::BEGIN, 1, NO_KEY, 7)
        .thread(121)
        .put(kind::LOST, 2, 0, (Reason::Unwritten as u64) << 48 | 3)
        .put(kind::BEGIN, 6, NO_KEY, 7)
        .put(kind::END, 8, NO_KEY, 7)
        .thread(120)
        .put(kind::END, 7, NO_KEY, 7)
        .read();
    assert_eq!(ranges(&set), [(6, 8)]);
}

/// A thread without a buffer: its markers may have been anywhere, so keys that are used again prove nothing.
#[test]
fn losses_without_a_time_concern_keys_that_are_used_again() {
    let read = |lost| {
        let pair =
            |written: Written, key, at| written.put(kind::BEGIN, at, key, 7).put(kind::END, at + 1, key, 7);
        let begun =
            Written::new().put(kind::TOTAL, lost, 1, 3).text(7, b"order").text(8, b"other").thread(120);
        let twice = pair(pair(pair(begun, 1, 10), 1, 20), NO_KEY, 30);
        ranges(&twice.put(kind::BEGIN, 40, 1, 8).put(kind::END, 41, 1, 8).read())
    };
    assert_eq!(read(0), [(10, 11), (20, 21), (30, 31), (40, 41)]);
    assert_eq!(read(2), [(30, 31), (40, 41)]);
}

/// Cut after any byte: what is whole before it is read as it is, and nothing else.
#[test]
fn a_file_that_is_cut_off_is_read_to_its_end() {
    let whole = Written::begun()
        .put(kind::BEGIN, 1, 1, 7)
        .put(kind::END, 2, 1, 7)
        .text(8, b"a longer string than one record")
        .put(kind::BEGIN, 3, 1, 8)
        .put(kind::STAGE, 4, 1, 8)
        .put(kind::NAME, 0, 0, 7)
        .put(kind::END, 5, 1, 8);
    let all = whole.read();
    assert_eq!((ranges(&all), all.diagnostics.len()), (vec![(1, 2), (3, 5)], 0));
    for end in 64..whole.0.len() {
        let set = read(&whole.0[..end]);
        assert!(all.intervals.starts_with(&set.intervals), "{end}");
        if (end - 64) % MARK_BYTES != 0 {
            let at = (end - (end - 64) % MARK_BYTES) as u64;
            assert!(
                said(&set).iter().any(|(offset, what)| *offset == Some(at) && what.contains("cut off")),
                "{end}"
            );
        }
    }
}

#[test]
fn first_lines_that_cannot_be() {
    let refusal = |line: &str| {
        let read = read_intervals(Path::new("x"), line.as_bytes(), &Clocks::default());
        read.expect_err("unusable").to_string()
    };
    assert!(refusal("# tailtrace-intervals 1 clock=monotonic form=binary\n").contains("clock=tsc"));
    assert!(refusal("# tailtrace-intervals 1 clock=tsc form=xml\n").contains("form=xml is unknown"));
    assert!(refusal("# tailtrace-intervals 2 clock=tsc form=binary\n").contains("version 2"));
}

/// A loss in a text file: the begin at 1 is open there, the begin at 5 is not.
#[test]
fn a_loss_in_a_text_file() {
    let text = |lost: &str| {
        let head = "# tailtrace-intervals 1 clock=tsc\nmark,label,at,key,pid,tid,name,value\n";
        let rows =
            |rows: &[&str]| rows.iter().map(|row| [row, ",1,2,,\n"].concat()).collect::<Vec<_>>().concat();
        let (before, after) = (rows(&["begin,a,1,"]), rows(&["end,a,4,", "begin,a,5,", "end,a,6,"]));
        read(format!("{head}{before}{lost}\n{after}").as_bytes())
    };
    for lost in [
        "# lost 7 marks of tid 2: they came faster than they can be written",
        "# lost 7 marks of tid 2 at=2 until=3",
    ] {
        let set = text(lost);
        assert_eq!((ranges(&set), set.losses), (vec![(5, 6)], MarkLosses { lost: 7, kept: 4 }), "{lost}");
    }
    assert_eq!(ranges(&text("# lost 7 marks of tid 3")), [(1, 4), (5, 6)]);
    assert_eq!(ranges(&text("# lost 7 marks at=2 until=5")), [(5, 6)], "of any thread");
    assert!(said(&text("# lost many marks")).iter().any(|(_, what)| what.contains("no number")));
}

/// A mark or a loss, as text and as records.
#[derive(Clone, Debug)]
enum Item {
    Mark { kind: u8, label: usize, key: Option<u64>, at: u64, tid: u64 },
    Lost { tid: u64, at: u64, ticks: u64, count: u64 },
}

const LABELS: [&str; 4] = ["order", "a longer label than fits in one record", "ä, \"b\"", "x"];

fn any_item() -> impl Strategy<Value = Item> {
    let mark = (1u8..6, 0usize..4, prop::option::of(0u64..3), 0u64..60, 1u64..4)
        .prop_map(|(kind, label, key, at, tid)| Item::Mark { kind, label, key, at, tid });
    let lost = (1u64..4, 0u64..60, 0u64..9, 1u64..5).prop_map(|(tid, at, ticks, count)| Item::Lost {
        tid,
        at,
        ticks,
        count,
    });
    prop_oneof![9 => mark, 1 => lost]
}

fn as_text(items: &[Item]) -> String {
    let mut text = "# tailtrace-intervals 1 clock=tsc\nmark,label,at,key,pid,tid,name,value\n".to_owned();
    for item in items {
        match *item {
            Item::Mark { kind, label, key, at, tid } => {
                let word = ["begin", "end", "stage", "counter", "publish"][usize::from(kind) - 1];
                let label = LABELS[label].replace('"', "\"\"");
                let key = key.map(|key| key.to_string()).unwrap_or_default();
                let rest = match kind {
                    kind::STAGE => "x,",
                    kind::COUNTER => "x,-3",
                    _ => ",",
                };
                writeln!(text, "{word},\"{label}\",{at},{key},118,{tid},{rest}").expect("memory");
            }
            Item::Lost { tid, at, ticks, count } => {
                writeln!(text, "# lost {count} marks of tid {tid} at={at} until={}", at + ticks)
                    .expect("memory");
            }
        }
    }
    text
}

fn as_records(items: &[Item]) -> Written {
    let labels = LABELS.iter().enumerate();
    let mut written =
        labels.fold(Written::new(), |written, (at, label)| written.text(at as u64 + 1, label.as_bytes()));
    for item in items {
        written = match *item {
            Item::Mark { kind, label, key, at, tid } => {
                let mark = written.thread(tid).put(kind, at, key.unwrap_or(NO_KEY), label as u64 + 1);
                match kind {
                    kind::STAGE | kind::COUNTER => mark.put(kind::NAME, 3u64.wrapping_neg(), 0, 4),
                    _ => mark,
                }
            }
            Item::Lost { tid, at, ticks, count } => {
                written.thread(tid).put(kind::LOST, at, count, 1 << 48 | ticks)
            }
        };
    }
    written
}

proptest! {
    /// A thread's losses concern it once it has made a mark: only then does a text file name its process.
    #[test]
    fn text_and_binary_give_the_same_intervals(items in prop::collection::vec(any_item(), 0..60)) {
        let mut known = std::collections::BTreeSet::new();
        let items: Vec<Item> = items
            .into_iter()
            .filter(|item| match item {
                Item::Mark { tid, .. } => {
                    known.insert(*tid);
                    true
                }
                Item::Lost { tid, .. } => known.contains(tid),
            })
            .collect();
        let (text, binary) = (read(as_text(&items).as_bytes()), as_records(&items).read());
        prop_assert_eq!(&text.intervals, &binary.intervals);
        prop_assert_eq!(text.losses, binary.losses);
        let whats = |set: &IntervalSet| set.diagnostics.iter().map(|found| found.what.clone()).collect::<Vec<_>>();
        prop_assert_eq!(whats(&text), whats(&binary));
    }

    /// Any byte may be wrong: the rest is read, and no interval ends before it begins.
    #[test]
    fn any_bytes_are_read_to_their_end(items in prop::collection::vec(any_item(), 1..30), at in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = as_records(&items).0;
        let at = 64 + at.index(bytes.len() - 64);
        bytes[at] = byte;
        let set = read(&bytes);
        let is_ordered = |interval: &Interval| interval.range.start <= interval.range.stop;
        prop_assert!(set.intervals.iter().all(is_ordered));
    }
}
