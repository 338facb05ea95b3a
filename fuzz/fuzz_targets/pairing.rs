//! Any marks, and losses among them: none is lost in pairing, none is used twice.
#![no_main]

use intervals::pairing::{Loss, Mark, MarkKind, pair_around};
use intervals::{Findings, KEPT_PER_KIND, Origin};
use libfuzzer_sys::fuzz_target;
use model::{Cpu, PhaseKind, ThreadId, Tsc};

fuzz_target!(|input: Vec<(u8, u8, u16, Option<u8>)>| {
    let mark = |&(what, key, at, id): &(u8, u8, u16, Option<u8>)| Mark {
        kind: match what % 8 {
            0..=2 => MarkKind::Begin,
            3..=5 => MarkKind::End,
            6 => match key % 4 {
                0 => MarkKind::Stage("stage".into()),
                1 => MarkKind::Phase(PhaseKind::Run),
                2 => MarkKind::Phase(PhaseKind::Ready),
                _ => MarkKind::Phase(PhaseKind::Await),
            },
            _ => MarkKind::Publish,
        },
        label: if what & 0x10 == 0 { "a".into() } else { "b".into() },
        key: (what & 0x20 == 0).then(|| key.to_string().into()),
        at: Tsc(at.into()),
        thread: (what & 0x40 == 0).then(|| ThreadId::new(i32::from(key & 1), (what >> 7).into())),
        cpu: (key & 2 == 0).then_some(Cpu(0)),
        id: id.map(u64::from),
        counters: Vec::new(),
        origin: Origin::Line(at.into()),
    };
    // The last id stands for markers that are missing.
    let (gaps, made): (Vec<_>, Vec<_>) = input.into_iter().partition(|&(.., id)| id == Some(u8::MAX));
    let loss = |gap: &(u8, u8, u16, Option<u8>)| {
        let Mark { at, thread, .. } = mark(gap);
        Loss { thread, first: at, last: Tsc(at.0 + u64::from(gap.1)) }
    };
    let losses: Vec<Loss> = gaps.iter().map(loss).collect();
    let marks: Vec<Mark> = made.iter().map(mark).collect();
    let edges = marks.iter().filter(|mark| matches!(mark.kind, MarkKind::Begin | MarkKind::End)).count();
    let set = pair_around(marks, losses, Findings::new());
    assert!(set.intervals.iter().all(|interval| interval.range.start <= interval.range.stop));
    for interval in set.intervals.iter().filter(|interval| !interval.phases.is_empty()) {
        let starts = interval.phases.iter().map(|phase| phase.range.start).chain([interval.range.stop]);
        let stops = [interval.range.start].into_iter().chain(interval.phases.iter().map(|phase| phase.range.stop));
        assert!(starts.eq(stops), "phases have no holes");
    }
    if (set.diagnostics.len() as u64) < KEPT_PER_KIND {
        let of =
            |what: &str| set.diagnostics.iter().filter(|diagnostic| diagnostic.what.contains(what)).count();
        let left_out = of("before it begins") + of("occurs twice") + of("spans lost markers");
        let left_over = of("begin of ") + of("end of ") + 2 * left_out;
        assert_eq!(2 * set.intervals.len() + left_over, edges);
    }
});
