//! A CTF trace: as it is where it begins with metadata, else packets of a metadata with every kind of type.
#![no_main]

use std::path::Path;

use intervals::{Clock, ClockPair, Clocks, read_intervals};
use libfuzzer_sys::fuzz_target;
use model::Tsc;

const METADATA: &str = "/* CTF 1.8 */
typealias integer { size = 32; } := u32;
typealias integer { size = 8; encoding = UTF8; } := character;
trace { byte_order = le; packet.header := struct { u32 magic; integer { size = 8; } stream_id; }; };
clock { name = monotonic; freq = 1000000000; };
stream {
    id = 0;
    packet.context := struct { u32 packet_size; u32 content_size; integer { size = 64; } timestamp_begin; u32 events_discarded; };
    event.header := struct { enum : integer { size = 5; } { small = 0 ... 30, large = 31 } id;
        variant <id> { struct { integer { size = 27; map = clock.monotonic.value; } time; } small;
            struct { u32 id; integer { size = 64; map = clock.monotonic.value; } time; } align(8) large; } v; } align(8);
    event.context := struct { integer { size = 32; signed = true; } _vtid; };
};
event { name = \"a:b_begin\"; id = 0; stream_id = 0; fields := struct { u32 _key; string _s; integer { size = 8; } _n; character _t[_n]; }; };
event { name = \"a:b_end\"; id = 1; stream_id = 0; fields := struct { u32 _key; floating_point { exp_dig = 8; mant_dig = 24; } _f; u32 _x[4]; }; };
event { name = \"c_entry\"; id = 2; stream_id = 0; fields := struct { enum : integer { size = 8; } { one, two = 5 ... 9 } _e; }; };
event { name = \"c_exit\"; id = 40; stream_id = 0; };
";

fuzz_target!(|bytes: &[u8]| {
    let pair = |clock, tsc, ns| ClockPair { clock, tsc: Tsc(tsc), ns, error_ns: 5 };
    let both = |clock| [pair(clock, 0, 0), pair(clock, u64::MAX, u64::MAX / 3)];
    let pairs = [both(Clock::Monotonic), both(Clock::Realtime)].concat();
    let clocks = Clocks { pairs, ..Clocks::default() };
    let is_whole = bytes.starts_with(b"/* CTF 1.8 */")
        || bytes.starts_with(&0x75d1_1d57_u32.to_le_bytes())
        || bytes.starts_with(&0x75d1_1d57_u32.to_be_bytes());
    let trace = if is_whole { bytes.to_vec() } else { [METADATA.as_bytes(), bytes].concat() };
    let Ok(set) = read_intervals(Path::new("fuzz"), trace.as_slice(), &clocks) else { return };
    assert!(set.intervals.iter().all(|interval| interval.range.start <= interval.range.stop));
    assert!(set.intervals.windows(2).all(|two| two[0].range.start <= two[1].range.start));
    let places = set.diagnostics.iter().filter_map(|found| found.place.file_offset);
    assert!(places.into_iter().all(|at| at.0 <= trace.len() as u64));
});
