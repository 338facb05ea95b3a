//! Any bytes as a perf.data whose samples mark intervals: each event with each, with and without a key, and three of them as phases.
#![no_main]

use std::collections::BTreeSet;
use std::path::Path;

use intervals::{EventPair, from_events};
use libfuzzer_sys::fuzz_target;
use model::{PhaseKind, TimeConversion};
use perfdata::{PerfData, Record};

fuzz_target!(|bytes: &[u8]| {
    let Ok(capture) = PerfData::from_bytes(Path::new("fuzz"), bytes.to_vec()) else { return };
    let mut names = BTreeSet::new();
    let mut fields = BTreeSet::new();
    for record in capture.records() {
        if let Record::Sample(sample) = &record.record {
            names.extend(sample.event_name().map(str::to_owned));
            let of_payload = sample.format().map_or(&[][..], |format| format.fields());
            fields.extend(of_payload.iter().map(|field| field.name().to_owned()));
        }
    }
    let keys: Vec<Option<String>> = std::iter::once(None).chain(fields.into_iter().take(3).map(Some)).collect();
    let conversion = TimeConversion::new(31, 825_959_061, 18_446_744_073_673_297_304);
    for begin in names.iter().take(3) {
        for end in names.iter().take(3) {
            for key in &keys {
                let kinds = [PhaseKind::Run, PhaseKind::Ready, PhaseKind::Await];
                let phases = kinds.into_iter().zip(names.iter().map(|name| (&**name).into())).collect();
                let pair = EventPair { begin: (&**begin).into(), end: (&**end).into(), key: key.clone(), phases };
                let Ok(set) = from_events(&capture, &pair, conversion) else { continue };
                assert!(set.intervals.iter().all(|interval| interval.range.start <= interval.range.stop));
                assert!(set.intervals.windows(2).all(|two| two[0].range.start <= two[1].range.start));
            }
        }
    }
});
