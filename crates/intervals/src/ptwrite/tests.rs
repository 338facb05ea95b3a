//! The specification's grammar and what payloads become, worked out by hand.

use super::{from_ptwrites as from_ptwrites_with, *};
use proptest::prelude::*;

fn spec(text: &str) -> PtwriteSpec {
    text.parse().expect("a specification")
}

fn refusal(text: &str) -> String {
    text.parse::<PtwriteSpec>().expect_err("refused").to_string()
}

fn at(time: u64, tid: i32, payload: u64) -> PtwriteOccurrence {
    let thread = Some(ThreadId::new(1, tid));
    PtwriteOccurrence { time: Tsc(time), cpu: Some(Cpu(0)), thread, payload, ip: None, aux_offset: time }
}

fn from_ptwrites(
    spec: &PtwriteSpec,
    occurrences: impl IntoIterator<Item = PtwriteOccurrence>,
) -> IntervalSet {
    from_ptwrites_with(spec, occurrences, &|_, _| None)
}

fn intervals(set: &IntervalSet) -> Vec<(u64, u64, u64)> {
    set.intervals.iter().map(|one| (one.id.0, one.range.start.0, one.range.stop.0)).collect()
}

#[test]
fn both_forms_of_the_contract() {
    let stop = spec("id=40..63,ticks=0..39");
    let field = |low, high| BitField::new(low, high).expect("a field");
    assert_eq!(stop.form, PtwriteForm::Stop { ticks: field(0, 39) });
    assert_eq!((stop.id, stop.counters.len()), (Some(field(40, 63)), 0));
    let pair = spec("begin=0x51,end=0x52,tag=56..63,id=32..55");
    assert_eq!(pair.form, PtwriteForm::Pair { tag: field(56, 63), begin: 0x51, end: 0x52 });
    let with_counters = spec(" ticks = 0..31 , fast=63, depth=32..=39 ");
    assert_eq!(with_counters.id, None);
    assert_eq!(
        with_counters.counters,
        [("fast".to_owned(), field(63, 63)), ("depth".to_owned(), field(32, 39))]
    );
}

#[test]
fn refusals_say_what_is_wrong() {
    for (text, part) in [
        ("", "NAME=VALUE"),
        ("ticks", "NAME=VALUE"),
        ("=5,ticks=0..3", "no name"),
        ("ticks=39..0", "write ticks=0..39"),
        ("ticks=0..64", "beyond bit 63"),
        ("ticks=0..9999", "not a bit field"),
        ("ticks=-1..3", "not a bit field"),
        ("ticks=0..3..5", "not a bit field"),
        ("ticks=a", "not a bit field"),
        ("ticks=0..3,ticks=4..5", "named twice"),
        ("x=0,x=1,ticks=0..3", "named twice"),
        ("id=0..3", "neither ticks nor"),
        ("begin=1,end=2,id=0..3", "neither ticks nor"),
        ("begin=1,end=2,tag=0..3,ticks=4..5", "ticks excludes begin, end and tag"),
        ("begin=1,end=1,tag=0..3", "the same value"),
        ("begin=0x100,end=1,tag=56..63", "does not fit in the 8 bits"),
        ("begin=-1,end=1,tag=56..63", "not a number"),
        ("begin=0x,end=1,tag=56..63", "not a number"),
        ("begin=,end=1,tag=56..63", "not a number"),
        ("id=0..40,ticks=0..39", "share bits"),
        ("begin=1,end=2,tag=0..7,id=7..9", "id and tag share bits"),
        ("begin=1,end=2,tag=0..7,id=9..9,label=9..12", "id and label share bits"),
    ] {
        let said = refusal(text);
        assert!(said.contains(part) && said.starts_with(&format!("--ptwrite {text}: ")), "{text:?}: {said}");
    }
}

#[test]
fn a_mark_at_the_stop_leads_back() {
    let set = from_ptwrites(
        &spec("id=40..63,ticks=0..39"),
        [at(9_000, 7, (5 << 40) + 400), at(1_000, 7, (4 << 40) + 100)],
    );
    assert_eq!(intervals(&set), [(4, 900, 1_000), (5, 8_600, 9_000)]);
    assert_eq!(
        (set.intervals[0].start_thread, set.intervals[0].stop_thread),
        (None, Some(ThreadId::new(1, 7)))
    );
    assert_eq!(set.diagnostics, []);
}

#[test]
fn ticks_beyond_what_can_be() {
    let set = from_ptwrites(&spec("ticks=0..7"), [at(100, 7, 200), at(1_000, 7, 0xff)]);
    assert_eq!(intervals(&set), [(1, 745, 1_000)]);
    let said: Vec<_> = set.diagnostics.iter().map(|each| (each.severity, each.place.aux_offset)).collect();
    assert_eq!(said, [(Severity::Error, Some(100)), (Severity::Warning, Some(1_000))]);
}

#[test]
fn pairs_across_threads_by_id() {
    let payload = |tag: u64, id: u64, rest: u64| tag << 56 | id << 32 | rest;
    let set = from_ptwrites(
        &spec("begin=0x51,end=0x52,tag=56..63,id=32..55,low=0..31"),
        [
            at(10, 1, payload(0x51, 7, 3)),
            at(20, 2, payload(0x52, 7, 9)),
            at(15, 1, payload(0x99, 7, 0)),
            at(30, 2, payload(0x52, 8, 0)),
        ],
    );
    assert_eq!(intervals(&set), [(7, 10, 20)]);
    let only = &set.intervals[0];
    assert_eq!(
        (only.start_thread, only.stop_thread, only.key.as_deref()),
        (Some(ThreadId::new(1, 1)), Some(ThreadId::new(1, 2)), None)
    );
    let counters: Vec<_> =
        only.counters.iter().map(|counter| (counter.name.as_str(), counter.value.as_f64())).collect();
    assert_eq!(counters, [("begin.low", 3.0), ("low", 9.0)]);
    assert_eq!(set.diagnostics.len(), 2);
}

#[test]
fn without_an_id_pairs_nest_on_their_thread() {
    let set = from_ptwrites(
        &spec("begin=1,end=0,tag=0"),
        [at(1, 1, 1), at(2, 2, 1), at(3, 1, 1), at(4, 1, 0), at(5, 2, 0), at(6, 1, 0)],
    );
    assert_eq!(intervals(&set), [(0, 1, 6), (1, 2, 5), (2, 3, 4)]);
}

#[test]
fn ids_that_wrap_stay_unique() {
    let occurrences: Vec<_> =
        (0..6u64).map(|number| at(100 * (number + 1), 1, ((number % 2) << 8) + 5)).collect();
    let set = from_ptwrites(&spec("id=8,ticks=0..7"), occurrences);
    // One bit of id: the n-th repetition adds n * 2.
    assert_eq!(set.intervals.iter().map(|one| one.id.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    let full = from_ptwrites(
        &spec("id=1..63,ticks=0"),
        [at(9, 1, u64::MAX), at(10, 1, u64::MAX), at(11, 1, u64::MAX)],
    );
    assert_eq!(full.intervals.iter().map(|one| one.id.0).collect::<Vec<_>>(), [u64::MAX >> 1, u64::MAX]);
}

#[test]
fn without_a_time_packet_there_is_no_interval() {
    let set = from_ptwrites(&spec("ticks=0..7"), [at(0, 1, 0), at(100, 1, 5)]);
    assert_eq!(intervals(&set), [(0, 95, 100)]);
    assert!(set.diagnostics[0].what.contains("before the first timing packet"));
}

#[test]
fn no_ptwrite_at_all_is_said() {
    let set = from_ptwrites(&spec("ticks=0..7"), []);
    assert!(set.diagnostics[0].what.contains("ptw=1"));
}

proptest! {
    #[test]
    fn a_field_is_shift_and_mask(low in 0u32..64, width in 1u32..=64, payload in any::<u64>()) {
        if let Some(field) = BitField::new(low, low + width - 1) {
            let naive = (0..width).map(|bit| (payload >> (low + bit) & 1) << bit).sum::<u64>();
            prop_assert_eq!(field.of(payload), naive);
            prop_assert!(field.of(payload) <= field.highest());
        } else {
            prop_assert!(low + width > 64);
        }
    }

    #[test]
    fn any_text_is_a_specification_or_a_reason(text in "[a-z0-9=.,x ]{0,40}") {
        let _ = text.parse::<PtwriteSpec>();
    }

    #[test]
    fn any_payloads(payloads in prop::collection::vec((any::<u64>(), 0u64..1000, 0i32..3), 0..40)) {
        let occurrences: Vec<_> = payloads.iter().map(|&(payload, time, tid)| at(time, tid, payload)).collect();
        for text in ["id=60..63,ticks=0..9", "begin=1,end=0,tag=0,id=1..2,c=3..63", "begin=1,end=0,tag=0"] {
            let set = from_ptwrites(&spec(text), occurrences.iter().copied());
            let mut ids: Vec<_> = set.intervals.iter().map(|one| one.id).collect();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), set.intervals.len());
        }
    }
}

/// Labels by their texts: keys repeat between labels and stay what they are; all bits set nest.
#[test]
fn labels_have_their_texts() {
    let spec = spec("begin=0xb,end=0xe,tag=60..63,label=40..59,id=0..39");
    let mark = |tag: u64, label: u64, key: u64| tag << 60 | label << 40 | key;
    let none = (1 << 40) - 1;
    let marks = [
        at(100, 1, mark(0xb, 0x12, 7)),
        at(110, 2, mark(0xb, 0x34, 7)),
        at(120, 1, mark(0xb, 0x12, none)),
        at(130, 2, mark(0xb, 0x12, none)),
        at(140, 1, mark(0xe, 0x12, none)),
        at(150, 2, mark(0xe, 0x12, none)),
        at(160, 3, mark(0xe, 0x12, 7)),
        at(170, 2, mark(0xe, 0x34, 7)),
    ];
    let text = |_: &PtwriteOccurrence, field: BitField| {
        assert_eq!(field, BitField::new(40, 59).expect("a field"));
        None
    };
    let names = |occurrence: &PtwriteOccurrence, field: BitField| {
        (field.of(occurrence.payload) == 0x12).then(|| "order".into()).or_else(|| text(occurrence, field))
    };
    let set = from_ptwrites_with(&spec, marks, &names);
    let found: Vec<_> = set
        .intervals
        .iter()
        .map(|one| (&*one.label, one.key.as_deref(), one.range.start.0, one.range.stop.0))
        .collect();
    assert_eq!(
        found,
        [
            ("order", Some("7"), 100, 160),
            ("ptwrite 0x34", Some("7"), 110, 170),
            ("order", None, 120, 140),
            ("order", None, 130, 150),
        ]
    );
    assert_eq!(set.diagnostics, []);
}
