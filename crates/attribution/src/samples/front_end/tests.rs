//! Samples and reads by hand: ticks are nanoseconds here.

use model::{Cpu, FileOffset, Ticks, TscRange};
use perfdata::{Attr, CounterRead};

use super::event_name::plain_name;
use super::slots::{Counters, Reads, Used};
use super::*;
use crate::testing::script::WORKER;
use crate::threads::stays::Whereabouts;
use crate::walk::activity::Run;
use crate::walk::user_code::NodeKey;

#[test]
fn events_are_known_by_intels_names_as_perf_writes_them() {
    for name in [
        "frontend_retired.l1i_miss:upp",
        "cpu/FRONTEND_RETIRED.LATENCY_GE_32/pp",
        "cpu_core/topdown-fe-bound/",
        "icache_64b.iftag_stall",
    ] {
        assert!(samples::tells(name), "{name}");
    }
    for name in ["cycles:u", "sched:sched_switch", "topdown-be-bound", "mem_inst_retired.all_loads"] {
        assert!(!samples::tells(name), "{name}");
    }
    assert_eq!(plain_name("cpu_core/TOPDOWN_FE_BOUND/u"), "topdown-fe-bound");
    assert_eq!((plain_name("slots:u"), plain_name("cpu/slots/")), ("slots".into(), "slots".into()));
}

fn sample(at: u64, event: &str, cycles: Option<u16>, period: Option<u64>) -> FrontEndSample {
    let (event, record, cpu, ip) = (event.to_owned(), FileOffset(at), Some(Cpu(0)), Some(0x1000));
    FrontEndSample { at: Tsc(at), event, record, cpu, ip, period, cycles, stall: Ticks(0) }
}

fn run(start: u64, stop: u64, ratio: u32) -> Run {
    Run {
        range: TscRange::new(Tsc(start), Tsc(stop)),
        function: None,
        node: NodeKey::default(),
        instructions: 1,
        calls: 0,
        cold: Ticks(0),
        ratio,
        cpu: Some(Cpu(0)),
        uncertainty: Ticks(0),
        aux_offset: 0,
    }
}

/// At ratio 40 a cycle is half a tick of a clock of ratio 20; without a CBR packet, a tick.
#[test]
fn cycles_become_ticks_by_the_ratio_under_way() {
    let runs = [run(0, 100, 40), run(100, 200, 0)];
    let taken = vec![
        sample(50, "frontend_retired.l1i_miss", Some(80), Some(10)),
        sample(99, "frontend_retired.l1i_miss", None, Some(10)),
        sample(100, "frontend_retired.l1i_miss", Some(80), None),
    ];
    let samples = Samples::new(taken, &runs, 20);
    let stalls: Vec<u64> = samples.told.iter().map(|sample| sample.stall.0).collect();
    assert_eq!(stalls, [400, 0, 80]);
    assert_eq!((samples.cycles(), samples.estimate(), samples.are_all()), (Some(160), 880, false));
    assert_eq!(
        Samples::new(vec![sample(50, "icache", Some(80), Some(1))], &runs, 0).told[0].stall,
        Ticks(80)
    );
}

/// The same instruction may be sampled for several events: they are not added up.
#[test]
fn of_several_events_the_one_that_cost_most_is_told() {
    let taken = vec![
        sample(1, "frontend_retired.itlb_miss", Some(30), Some(1)),
        sample(2, "frontend_retired.l1i_miss", Some(20), Some(1)),
        sample(3, "frontend_retired.l1i_miss", Some(20), Some(1)),
    ];
    let samples = Samples::new(taken, &[], 0);
    assert_eq!((samples.count, samples.told.len(), samples.cycles()), (3, 2, Some(40)));
}

#[test]
fn what_is_measured_and_what_is_estimated_is_told_apart() {
    let story = |taken: &[(Option<u16>, Option<u64>)]| {
        let taken = taken.iter().map(|&(cycles, period)| sample(1, "e", cycles, period)).collect();
        Samples::new(taken, &[], 0).story()
    };
    assert_eq!(story(&[]), None);
    assert_eq!(story(&[(None, Some(7))]).as_deref(), Some("e: 1 sample"));
    let all = [(Some(300), Some(1)), (Some(40), Some(1))];
    assert_eq!(story(&all).as_deref(), Some("e: 2 samples, retire latency 340 cycles in all"));
    let some = [(Some(300), Some(101)), (Some(40), Some(101))];
    let said =
        "e: 2 samples, retire latency 340 cycles in all; each stands for 101 events: about 34340 cycles";
    assert_eq!(story(&some).as_deref(), Some(said));
    let unknown =
        "e: 1 sample, retire latency 300 cycles in all; for how many events each stands is not recorded";
    assert_eq!(story(&[(Some(300), None)]).as_deref(), Some(unknown));
}

fn attr(name: &str, ids: &[u64]) -> Attr {
    let mut attr = Attr::default();
    attr.name = Some(name.into());
    attr.ids = ids.to_vec();
    attr
}

/// Slots have id 1 on CPU 0 and 11 on CPU 1, the front end's 2 and 12, all of the back end 3.
fn counters() -> Counters {
    let attrs =
        [attr("slots", &[1, 11]), attr("topdown-fe-bound", &[2, 12]), attr("cpu/topdown-be-bound/", &[3])];
    Counters::of(&attrs).expect("slots and the front end's")
}

fn stay(start: u64, stop: u64) -> Stay {
    Stay::new(TscRange::new(Tsc(start), Tsc(stop)), Some(WORKER), Whereabouts::OnCpu(Cpu(0)))
}

/// Passes `reads` a read of times and counters (value, id) at `at`.
fn add(reads: &mut Reads, stay: &Stay, at: u64, times: [u64; 2], values: &[(u64, u64)]) {
    let words = values.iter().flat_map(|&(value, id)| [value, id]);
    let words = [values.len() as u64].into_iter().chain(times).chain(words);
    let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    // Times, id, group.
    let read = CounterRead::of_bytes(0b1111, &bytes).expect("a read");
    let record = TimedRecord {
        offset: FileOffset(at),
        time: Some(PerfTime(at)),
        cpu: Some(Cpu(0)),
        thread: Some(WORKER),
        id: Some(1),
        record: Record::LostSamples { lost: 0 },
    };
    reads.add(stay, Tsc(at), &record, &read);
}

#[test]
fn only_a_group_of_slots_and_the_front_ends_tells() {
    let attr = |name: &str| attr(name, &[1]);
    assert!(Counters::of(&[attr("topdown-fe-bound"), attr("cycles")]).is_none());
    assert!(Counters::of(&[attr("slots"), attr("topdown-be-bound")]).is_none());
    assert!(Counters::of(&[attr("cpu_core/slots/u"), attr("cpu_core/topdown-fe-bound/u")]).is_some());
}

/// From 100 to 300 in the first stay and from 600 to 700 in the second; between them another thread ran.
#[test]
fn what_others_used_between_two_stays_does_not_count() {
    let stays = [stay(0, 400), stay(500, 800)];
    let mut reads = Reads::new(counters());
    add(&mut reads, &stays[0], 100, [0, 0], &[(1000, 1), (500, 2), (100, 3)]);
    add(&mut reads, &stays[0], 300, [200, 150], &[(1600, 1), (800, 2), (200, 3)]);
    add(&mut reads, &stays[1], 600, [500, 450], &[(9000, 1), (8000, 2), (300, 3)]);
    add(&mut reads, &stays[1], 700, [600, 550], &[(9400, 1), (8100, 2), (500, 3)]);
    // A counter of another CPU.
    add(&mut reads, &stays[1], 750, [600, 550], &[(99_999, 11), (8100, 12)]);
    let told = reads.told(&stays[..1]).expect("300 of 400 are covered");
    let used = Used { all: 1000, front_end: 400, back_end: Some(300), ..Used::default() };
    assert_eq!((told.used, told.covered, told.on_cpu), (used, Ticks(300), Ticks(400)));
    assert_eq!(told.counted, Some((300, 250)));
    assert_eq!(told.records.map(|(record, _)| record.0), [100, 700]);
    assert_eq!(told.shares(), "front end 40 %, back end 30 %");
    assert_eq!(told.coverage(), "over 75 % of its time on CPUs, counting 83 % of that");
}

/// Two groups: what the second one counted from 100 to 300 lies within what the first one covers.
#[test]
fn where_two_groups_take_turns_each_moment_counts_once() {
    let stays = [stay(0, 600)];
    let mut reads = Reads::new(counters());
    for (at, values) in [
        (0, [(1000, 1), (500, 2)]),
        (100, [(1000, 11), (500, 12)]),
        (200, [(1600, 1), (800, 2)]),
        (300, [(9000, 11), (8000, 12)]),
        (500, [(2000, 1), (900, 2)]),
    ] {
        add(&mut reads, &stays[0], at, [0, 0], &values);
    }
    // A group that does not count the front end's slots.
    add(&mut reads, &stays[0], 520, [0, 0], &[(2000, 1), (900, 3)]);
    add(&mut reads, &stays[0], 580, [0, 0], &[(3000, 1), (990, 3)]);
    let told = reads.told(&stays).expect("500 of 600");
    assert_eq!((told.used.all, told.used.front_end, told.covered), (1000, 400, Ticks(500)));
}

/// 349 of 700 are too few; so is a counter that did not change, or decreased.
#[test]
fn reads_that_cover_less_than_half_tell_nothing() {
    let told = |until: u64, values: [(u64, u64); 2]| {
        let stays = [stay(0, 700)];
        let mut reads = Reads::new(counters());
        add(&mut reads, &stays[0], 0, [0, 0], &[(1000, 1), (500, 2)]);
        add(&mut reads, &stays[0], until, [0, 0], &values);
        reads.told(&stays).is_some()
    };
    assert!(told(350, [(2000, 1), (600, 2)]));
    assert!(!told(349, [(2000, 1), (600, 2)]));
    assert!(!told(700, [(1000, 1), (500, 2)]), "nothing was counted");
    assert!(!told(700, [(900, 1), (600, 2)]), "opened anew");
    assert!(!told(700, [(1001, 1), (600, 2)]), "more than all");
}
