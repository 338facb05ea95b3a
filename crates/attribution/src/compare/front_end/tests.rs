//! The evidence about the front end, best first, by hand.

use model::{Cpu, FileOffset, Ticks, Tsc};

use super::*;
use crate::samples::front_end::FrontEndRecords;
use crate::samples::front_end::samples::Samples;
use crate::samples::front_end::slots::Used;
use crate::walk::user_code::{BlockUse, UserCode};

fn of(outlier: &Examined, own: &Use, baselines: &Baselines) -> FrontEnd {
    FrontEnd::of(outlier, own, baselines)
}

fn with(front_end: FrontEndRecords) -> Examined {
    Examined { front_end, ..Examined::empty(crate::testing::script::interval(0..10)) }
}

/// This many samples, each with these cycles and for this many events.
fn samples(count: u64, cycles: Option<u16>, period: u64) -> FrontEndRecords {
    let sample = |number| FrontEndSample {
        at: Tsc(number),
        event: "frontend_retired.l1i_miss:pp".into(),
        record: FileOffset(number),
        cpu: Some(Cpu(0)),
        ip: Some(0x40_1000),
        period: Some(period),
        cycles,
        stall: Ticks(0),
    };
    let told: Vec<FrontEndSample> = (0..count).map(sample).collect();
    let samples = Samples { count, told };
    FrontEndRecords { samples, slots: None }
}

fn slots(all: u64, front_end: u64) -> Slots {
    Slots {
        used: Used { all, front_end, ..Used::default() },
        covered: Ticks(1),
        on_cpu: Ticks(1),
        counted: None,
        records: [(FileOffset(1), Some(Cpu(0))), (FileOffset(2), Some(Cpu(0)))],
    }
}

/// 513 lines of 64 bytes are more than the 512 of a Skylake's L1 instruction cache; half of them are not.
#[test]
fn code_that_does_not_fit_is_known_by_the_cpus_model() {
    use pt::{Block, BlockEnd, TimeBounds};
    let code = |lines: u64| {
        let mut code = UserCode::default();
        for line in 0..lines {
            let (ip, end_ip, end) = (line * 64, line * 64 + 8, BlockEnd::Jump);
            let (time, instructions, aux_offset) = (TimeBounds::default(), 2, 0);
            let block = Block {
                ip,
                end_ip,
                instructions,
                end,
                bits: 64,
                kernel: false,
                thread: None,
                time,
                aux_offset,
            };
            let key = (NodeKey::default(), ip);
            code.meet(key, &block);
            code.add_use(key, BlockUse { executions: 1, instructions: u64::from(instructions) });
        }
        code
    };
    let by_caches = |code, caches| {
        let empty = Examined::empty(crate::testing::script::interval(0..10));
        of(&Examined { code, caches, ..empty }, &Use::default(), &Baselines::default())
    };
    let skylake = crate::CodeCaches::of("GenuineIntel,6,94,3");
    assert_eq!(by_caches(code(513), skylake), FrontEnd::Outgrown);
    assert_eq!(by_caches(code(256), skylake), FrontEnd::NotKnown);
    assert_eq!(by_caches(code(513), None), FrontEnd::NotKnown);
}

/// Eight samples are twice two and four more; seven are not, nor are three where the baselines have none.
#[test]
fn a_few_samples_more_say_nothing() {
    let by = |count, most_front_end_samples| {
        let baselines = Baselines { most_front_end_samples, ..Baselines::default() };
        of(&with(samples(count, None, 1)), &Use::default(), &baselines)
    };
    assert_eq!((by(8, 2), by(7, 2)), (FrontEnd::Starved, FrontEnd::NotKnown));
    assert_eq!(by(3, 0), FrontEnd::NotKnown);
}

/// 300 ticks are enough for a verdict, 299 are not; neither are a few samples that represent many events.
#[test]
fn retire_latencies_tell_where_they_are_all_or_many() {
    let by = |count, period, stalled| {
        let own = Use { stalled, ..Use::default() };
        of(&with(samples(count, Some(100), period)), &own, &Baselines::default())
    };
    assert_eq!((by(3, 1, 300), by(3, 1, 299)), (FrontEnd::Stalled, FrontEnd::NotKnown));
    assert_eq!((by(4, 1000, 300), by(3, 1000, 300)), (FrontEnd::Stalled, FrontEnd::NotKnown));
    // Many samples that cost nothing do not show that it starved.
    assert_eq!(by(100, 1, 0), FrontEnd::NotKnown);
}

/// 30,000 ticks, 60 % of the slots; typical 10,000, 10 %: 18,000 minus 1,000 of the 20,000 that it took longer.
#[test]
fn counters_are_held_against_those_of_baselines() {
    let outlier = with(FrontEndRecords { slots: Some(slots(50, 30)), ..samples(100, None, 1) });
    let own = Use { ticks: 30_000, ..Use::default() };
    let mut baselines = Baselines::default();
    baselines.whole.mean.ticks = 10_000;
    assert_eq!(of(&outlier, &own, &baselines), FrontEnd::Starved, "nothing is typical");
    baselines.slots = Some(slots(1_000, 100).used);
    let counted = FrontEnd::Counted { lost: 17_000, longer: 20_000 };
    assert_eq!(of(&outlier, &own, &baselines), counted);
    let slower = |why| counted.measures(&Cause::UserSlower(why));
    assert!(slower(Slower::FrontEnd) && slower(Slower::Other) && !slower(Slower::Frequency));
    assert!(!FrontEnd::Stalled.measures(&Cause::UserSlower(Slower::Other)));
    let offsets = |front_end: FrontEnd| -> Vec<Option<FileOffset>> {
        front_end.evidence(&outlier).iter().map(|evidence| evidence.file_offset).collect()
    };
    assert_eq!(offsets(counted), [Some(FileOffset(1)), Some(FileOffset(2))]);
    assert_eq!(offsets(FrontEnd::Starved).len(), SHOWN_SAMPLES);
    // A smaller share than usual is no loss.
    let fine = with(FrontEndRecords { slots: Some(slots(100, 1)), ..FrontEndRecords::default() });
    assert_eq!(of(&fine, &own, &baselines), FrontEnd::Counted { lost: 0, longer: 20_000 });
}

#[test]
fn what_counters_tell_is_said_with_what_is_typical() {
    let outlier = with(FrontEndRecords { slots: Some(slots(50, 30)), ..samples(2, Some(170), 101) });
    let mut baselines = Baselines::default();
    let said = "top-down counters: front end 60 %, over 100 % of its time on CPUs; unknown for typical intervals; \
                frontend_retired.l1i_miss:pp: 2 samples, retire latency 340 cycles in all; each stands for 101 events: \
                about 34340 cycles; typical up to 0, about 0 cycles";
    assert_eq!(told(&outlier, &baselines).as_deref(), Some(said));
    baselines.slots = Some(slots(1_000, 125).used);
    baselines.with_slots = 1;
    let counted = with(FrontEndRecords { slots: Some(slots(50, 30)), ..FrontEndRecords::default() });
    let said = "top-down counters: front end 60 %, over 100 % of its time on CPUs; typical front end 13 % in 1 interval";
    assert_eq!(told(&counted, &baselines).as_deref(), Some(said));
    assert_eq!(told(&with(FrontEndRecords::default()), &baselines), None);
}
