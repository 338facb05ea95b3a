//! Damaged traces, other metadata and losses: `LTTng`'s trace of `tests/spans.rs` with some bytes changed, and packets by hand.

use std::path::Path;

use model::{Severity, Tsc};

use crate::clock::{Clock, ClockPair, Clocks};
use crate::error::Error;
use crate::file::{read_interval_file, read_intervals};
use crate::interval_set::IntervalSet;

/// 4096 bytes each: metadata, two packets of one CPU, one of the other.
const PACKET: usize = 4096;
const ALL: usize = 85;

/// The metadata of packets with times of 8 bits, a key and nothing else; all of it aligned to bytes.
const SMALL: &str = "/* CTF 1.8 */
typealias integer { size = 32; } := uint32_t;
typealias integer { size = 8; map = clock.c.value; } := time_t;
trace { byte_order = be; packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
clock { name = c; freq = 1000; offset_s = 10; offset = 5; };
stream {
    id = 7;
    packet.context := struct { uint32_t packet_size; uint32_t timestamp_begin; uint32_t events_discarded; };
    event.header := struct { enum : integer { size = 8; } { first, second = 4 ... 5 } id; time_t time; };
    event.context := struct { uint32_t _tid; };
};
event { name = \"a_begin\"; id = 0; stream_id = 7; };
event { name = \"a_end\"; id = 4; stream_id = 7; fields := struct { uint32_t _n; uint32_t _x[_n]; string s; }; };
";

fn trace() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spans/events.ctf.zst");
    let trace = zstd::decode_all(std::fs::File::open(path).expect("there")).expect("zstd");
    assert_eq!(trace.len(), 4 * PACKET);
    trace
}

fn clocks(clock: Clock) -> Clocks {
    let pair = |ns: u64| ClockPair { clock, tsc: Tsc(ns), ns, error_ns: 40 };
    Clocks { pairs: vec![pair(0), pair(1 << 62)], ..Clocks::default() }
}

fn read_in(clock: Clock, trace: &[u8]) -> Result<IntervalSet, Error> {
    read_intervals(Path::new("a.ctf"), trace, &clocks(clock))
}

fn read(trace: &[u8]) -> IntervalSet {
    read_in(Clock::Monotonic, trace).expect("usable")
}

fn complaints(set: &IntervalSet) -> Vec<String> {
    let worse = set.diagnostics.iter().filter(|found| found.severity > Severity::Note);
    worse.map(|found| format!("{}: {}", found.place, found.what)).collect()
}

/// A packet of [`SMALL`]: its number and head, and events of a number, a time and more.
fn packet(begin: u32, discarded: u32, events: &[(u8, u8, &[u8])]) -> Vec<u8> {
    let events: Vec<u8> =
        events.iter().flat_map(|(id, time, more)| [&[*id, *time, 0, 0, 0, 9], *more].concat()).collect();
    let size = 8 * (20 + u32::try_from(events.len()).expect("small"));
    let head = [0xc1fc_1fc1, 7, size, begin, discarded].map(u32::to_be_bytes);
    [head.concat(), events].concat()
}

/// 1,000 ticks a second: from tick 300 on, 8 bits of a time are 0x2c = 300, then 0x10 = 0x210 - 0x100 = 272 + 256 = 528.
#[test]
fn times_go_on_from_the_packets_begin_and_the_clock_has_an_offset() {
    let events: [(u8, u8, &[u8]); 2] = [(0, 0x2c, b""), (4, 0x10, &[0, 0, 0, 1, 0, 0, 0, 3, b'z', 0])];
    let trace = [SMALL.as_bytes(), &packet(300, 0, &events)].concat();
    let set = read_in(Clock::Realtime, &trace).expect("usable");
    assert_eq!(complaints(&set), [""; 0]);
    let found = &set.intervals[0];
    assert_eq!((found.label.as_str(), found.start_thread.map(|thread| thread.tid.0)), ("a", Some(9)));
    // 10 s and 5 ticks after 1970 is the clock's zero.
    let at = |tick: u64| Tsc(10_000_000_000 + (tick + 5) * 1_000_000);
    assert_eq!((found.range.start, found.range.stop), (at(300), at(528)));
    assert_eq!((found.counters[0].name.as_str(), found.attributes[0].value.as_str()), ("n", "z"));
}

#[test]
fn a_loss_and_events_without_their_partner_are_reported() {
    let trace = [SMALL.as_bytes(), &packet(0, 3, &[(0, 1, b"")])].concat();
    let set = read_in(Clock::Realtime, &trace).expect("usable");
    let found = complaints(&set);
    assert!(
        found.iter().any(|what| what.contains("discarded 3 events") && what.contains("subbuf")),
        "{found:?}"
    );
    assert!(found.iter().any(|what| what.contains("\"a\" has no end")), "{found:?}");
}

/// Each CPU counts what it discarded by itself, and goes on counting from packet to packet.
#[test]
fn what_was_discarded_on_each_cpu_adds_up() {
    let metadata = SMALL.replace("uint32_t events_discarded;", "uint32_t events_discarded; uint32_t cpu_id;");
    let packet = |discarded: u32, cpu: u32| {
        let head = [0xc1fc_1fc1, 7, 8 * 24, 0, discarded, cpu].map(u32::to_be_bytes);
        head.concat()
    };
    let trace = [metadata.into_bytes(), packet(3, 0), packet(100, 1), packet(5, 0)].concat();
    let found = complaints(&read_in(Clock::Realtime, &trace).expect("usable"));
    assert!(found.iter().any(|what| what.contains("discarded 105 events")), "{found:?}");
}

/// The head of a packet is longer than the packet, by less than a byte.
#[test]
fn a_packet_of_no_bytes_is_none() {
    let metadata = "/* CTF 1.8 */
trace { byte_order = le; };
stream { packet.context := struct { integer { size = 3; } packet_size; }; };
";
    let trace = [metadata.as_bytes(), &0xc1fc_1fc1_u32.to_le_bytes()].concat();
    let set = read_in(Clock::Realtime, &trace).expect("usable");
    let found = complaints(&set);
    assert!(found.iter().any(|what| what.contains("it would have 0 bytes")), "{found:?}");
}

#[test]
fn metadata_that_cannot_be_used_has_its_line_and_what_is_read() {
    let said = |metadata: &str| {
        let error = read_in(Clock::Realtime, metadata.as_bytes()).expect_err("refused");
        error.to_string()
    };
    for (from, to, expected) in [
        ("uint32_t stream_id", "uint99_t stream_id", "line 4: the type \"uint99_t\" is not declared"),
        ("freq = 1000;", "freq 1000;", "line 5: \"=\" is expected"),
        ("size = 32;", "size = 65;", "line 2: a number of 1 to 64 bits"),
    ] {
        let found = said(&SMALL.replace(from, to));
        assert!(found.contains(expected) && found.contains("LTTng"), "{found}");
    }
    let deep = format!("/* CTF 1.8 */ typealias {}", "struct { ".repeat(100_000));
    assert!(said(&deep).contains("less deep"));
}

/// A byte of a packet's number, of its stream and of an event: the other packets are read.
#[test]
fn a_broken_packet_has_its_place_and_the_others_are_read() {
    // After the number, 16 bytes of UUID: the stream; after the head of 84 and 2 that say so: a long event number.
    for (at, expected) in
        [(0, "none begins here"), (20, "the metadata has no stream 255"), (86, "no event 255")]
    {
        let mut trace = trace();
        trace[PACKET + at] = 255;
        let set = read(&trace);
        let found = complaints(&set);
        let place = format!("{PACKET:#x}");
        assert!(found.iter().any(|what| what.contains(&place) && what.contains(expected)), "{at}: {found:?}");
        assert!((5..ALL).contains(&set.intervals.len()), "{at}: {}", set.intervals.len());
    }
}

/// Numbers with which packets begin, and none after them: so many are passed over, and then reading ends.
#[test]
fn what_is_no_trace_any_more_ends() {
    let whole = trace();
    for (numbers, expected) in [(9_000, ALL), (1 << 20, 0)] {
        let rest = [0xc1fc_1fc1_u32.to_le_bytes().repeat(numbers).as_slice(), &whole[PACKET..]].concat();
        let set = read(&[&whole[..PACKET], &rest].concat());
        assert_eq!(set.intervals.len(), expected);
        let is_left = complaints(&set).iter().any(|what| what.contains("what follows is not read"));
        assert_eq!(is_left, expected == 0);
    }
}

#[test]
fn a_trace_that_is_cut_off_anywhere_is_read_up_to_there() {
    let whole = trace();
    for length in (PACKET..whole.len()).step_by(97) {
        let set = read(&whole[..length]);
        let is_cut = !length.is_multiple_of(PACKET);
        assert_eq!(complaints(&set).iter().any(|what| what.contains("packet")), is_cut, "{length}");
    }
}

/// Values without a size, as many as the bits can say: neither an endless loop nor memory for them.
#[test]
fn counts_without_bytes_end() {
    let metadata = SMALL
        .replace("uint32_t _x[_n]", "struct { } _x[_n]")
        .replace("string s;", "struct { } y[4294967295];");
    let trace = [metadata.as_bytes(), &packet(0, 0, &[(0, 1, b""), (4, 2, &[255; 4])])].concat();
    assert_eq!(read_in(Clock::Realtime, &trace).expect("usable").intervals.len(), 1);
}

/// The small trace's metadata, whose second event has these fields; `byte` is a type.
fn small_with(fields: &str) -> String {
    let with_byte = SMALL.replace(
        "typealias integer { size = 32",
        "typealias integer { size = 8; } := byte; typealias integer { size = 32",
    );
    with_byte.replace("uint32_t _n; uint32_t _x[_n]; string s;", fields)
}

/// What `one` writes of the numbers from 0 on.
fn numbered(count: u32, one: impl Fn(u32) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().concat()
}

/// A trace of nothing but packets' numbers, each the begin of a packet of 24 bytes whose head declares 3,000 values without a byte.
#[test]
fn work_is_bounded_by_the_bytes_of_the_trace() {
    let empty = numbered(3000, |number| format!("struct {{ }} a{number}; "));
    let metadata = format!(
        "/* CTF 1.8 */
typealias integer {{ size = 8; }} := u8;
trace {{ byte_order = le; packet.header := struct {{ integer {{ size = 32; }} magic; {empty} }}; }};
stream {{ packet.context := struct {{ u8 packet_size; }}; event.header := struct {{ u8 id; }}; }};
event {{ name = \"a_begin\"; id = 193; }};
"
    );
    let numbers = 0xc1fc_1fc1_u32.to_le_bytes().repeat(1 << 20);
    let set = read_in(Clock::Realtime, &[metadata.as_bytes(), &numbers].concat()).expect("usable");
    let found = complaints(&set);
    let said = found.iter().find(|what| what.contains("far more values than the trace has bytes"));
    assert!(
        said.is_some_and(|what| what.contains("file offset 0x") && what.contains("not read")),
        "{found:?}"
    );
    // The same with an end: no doubt.
    let metadata = metadata.replace(&empty, "");
    let set = read_in(Clock::Realtime, &[metadata.as_bytes(), &numbers[..4 << 10]].concat()).expect("usable");
    assert!(!complaints(&set).iter().any(|what| what.contains("far more values")));
}

/// A value is found among many at once. Where ranges overlap the first one counts, and there are few.
#[test]
fn enumerations_may_have_many_values() {
    let with = |labels: &str| {
        let metadata = small_with(&format!("enum : uint32_t {{ {labels} }} e;"));
        let trace = [metadata.into_bytes(), packet(0, 0, &[(0, 1, b""), (4, 2, &[0, 1, 0x86, 0x9f])])];
        read_in(Clock::Realtime, &trace.concat()).map_err(|error| error.to_string())
    };
    let many = numbered(100_000, |number| format!("n{number}, "));
    let named = |labels: &str| with(labels).expect("usable").intervals[0].attributes[0].value.clone();
    assert_eq!(named(&many), "n99999");
    assert_eq!(named("a = 5 ... 6, b = 99999, c = 0 ... 100000"), "b");
    let refused = with(&format!("{many} all = 0 ... 100000")).expect_err("refused");
    assert!(refused.contains("line 13") && refused.contains("64 ranges at most"), "{refused}");
}

/// 300 numbers stand before the length of an array and the tag of a variant.
#[test]
fn lengths_and_tags_may_come_late() {
    let numbers = numbered(300, |number| format!("byte b{number}; "));
    let metadata = small_with(&format!(
        "{numbers} byte n; byte x[n]; enum : byte {{ one, two }} tag; variant <tag> {{ byte one; string two; }} v;"
    ));
    let content = [vec![7; 300], vec![2, 9, 9, 1, b'z', 0]].concat();
    let trace = [metadata.into_bytes(), packet(0, 0, &[(0, 1, b""), (4, 2, &content)])].concat();
    let set = read_in(Clock::Realtime, &trace).expect("usable");
    assert_eq!(complaints(&set), [""; 0]);
    let attributes: Vec<&str> = set.intervals[0].attributes.iter().map(|one| one.value.as_str()).collect();
    assert_eq!(attributes, ["two", "z"]);
}

/// Values beyond any limit: the packet is reported.
#[test]
fn an_event_of_too_many_values_is_reported() {
    let numbers = numbered(70_000, |number| format!("byte b{number}; "));
    let metadata = small_with(&numbers);
    let trace = [metadata.into_bytes(), packet(0, 0, &[(4, 2, &vec![1; 70_000])])].concat();
    let found = complaints(&read_in(Clock::Realtime, &trace).expect("usable"));
    assert!(found.iter().any(|what| what.contains("more than 65536 values")), "{found:?}");
}

/// A file that is cut off takes nothing of the next one, and a place is the file's own.
#[test]
fn the_files_of_a_folder_are_read_by_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("written");
    write("metadata", &trace[..PACKET]);
    // The second of two packets is cut off; the other file is whole.
    write("c_0", &trace[PACKET..3 * PACKET - 100]);
    write("c_1", &trace[3 * PACKET..]);
    let read = || read_interval_file(folder.path(), &clocks(Clock::Monotonic)).expect("usable");
    let cut = read();
    let found = complaints(&cut);
    let place = format!("c_0, file offset {PACKET:#x}");
    assert!(found[0].contains(&place) && found[0].contains("it was cut off"), "{found:?}");
    write("c_0", &trace[PACKET..2 * PACKET]);
    let without = read();
    assert_eq!(complaints(&without).iter().filter(|what| what.contains("packet")).count(), 0);
    // What the cut packet has before its end is there, too.
    assert!(cut.intervals.len() >= without.intervals.len());
    let of_next: Vec<_> = without.intervals.iter().map(|one| (&one.key, one.range)).collect();
    assert!(of_next.iter().all(|one| cut.intervals.iter().any(|other| (&other.key, other.range) == *one)));
}

#[test]
fn a_folder_is_read_as_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("ust/uid");
    std::fs::create_dir_all(&below).expect("made");
    let trace = trace();
    for (name, bytes) in
        [("c_0", PACKET..3 * PACKET), ("metadata", 0..PACKET), ("c_1", 3 * PACKET..4 * PACKET)]
    {
        std::fs::write(below.join(name), &trace[bytes]).expect("written");
    }
    std::fs::write(below.join(".other"), "not read").expect("written");
    let set = read_interval_file(folder.path(), &clocks(Clock::Monotonic)).expect("usable");
    assert_eq!((complaints(&set).len(), set.intervals.len()), (0, ALL));

    std::fs::create_dir_all(folder.path().join("kernel")).expect("made");
    std::fs::copy(below.join("metadata"), folder.path().join("kernel/metadata")).expect("copied");
    let refused =
        |path: &Path| read_interval_file(path, &clocks(Clock::Monotonic)).expect_err("refused").to_string();
    let said = refused(folder.path());
    assert!(said.contains("2 CTF traces") && said.contains("kernel"), "{said}");
    let empty = tempfile::tempdir().expect("a folder");
    assert!(refused(empty.path()).contains("without the file `metadata`"));
}
