//! Any text as a `--ptwrite` specification, and any payloads read with it.
#![no_main]

use intervals::{PtwriteOccurrence, PtwriteSpec, from_ptwrites};
use libfuzzer_sys::fuzz_target;
use model::{Cpu, ThreadId, Tsc};

fuzz_target!(|input: (&str, Vec<(u64, u16, u8)>)| {
    let (text, payloads) = input;
    let Ok(spec) = text.parse::<PtwriteSpec>() else { return };
    let occurrence = |(payload, time, tid): (u64, u16, u8)| PtwriteOccurrence {
        time: Tsc(time.into()),
        cpu: Some(Cpu(0)),
        thread: Some(ThreadId::new(1, tid.into())),
        payload,
        ip: None,
        aux_offset: 0,
    };
    let set = from_ptwrites(&spec, payloads.into_iter().map(occurrence), &|_, field| (field.width() > 5).then(|| "label".into()));
    let mut ids: Vec<_> = set.intervals.iter().map(|interval| interval.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), set.intervals.len());
});
