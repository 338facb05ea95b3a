//! Frequencies in force, by hand: ticks are nanoseconds here.

use model::Tsc;
use perfdata::{AskedFrequency, LeaveReason};

use super::*;
use crate::testing::script::{WORKER, conversion};
use crate::threads::stays::Whereabouts;

fn stay(start: u64, stop: u64, place: Whereabouts) -> Stay {
    Stay::new(TscRange::new(Tsc(start), Tsc(stop)), Some(WORKER), place)
}

/// CPU 0 at 3 GHz from 100 on and at 1 GHz from 500 on, CPU 1 at 2 GHz from 300 on.
fn frequencies() -> AskedFrequencies {
    let records = [(0, 100, 3_000_000), (1, 300, 2_000_000), (0, 500, 1_000_000)];
    AskedFrequencies::from_records(records.map(|(cpu, time, khz)| {
        (Cpu(cpu), AskedFrequency { since: PerfTime(time), khz, record: FileOffset(time) })
    }))
}

/// The worker goes from CPU 0, through a wait, to CPU 1 and back.
#[test]
fn each_stay_has_the_frequency_of_its_cpu() {
    let on = |cpu| Whereabouts::OnCpu(Cpu(cpu));
    let stays = [
        stay(200, 250, on(0)),
        stay(250, 280, Whereabouts::OffCpu(LeaveReason::Slept(None))),
        stay(280, 400, on(1)),
        stay(400, 900, on(0)),
    ];
    let all = requested_during(&stays, &frequencies(), Some(conversion()));
    let rows: Vec<_> =
        all.iter().map(|asked| (asked.range.start.0, asked.range.stop.0, asked.cpu.0, asked.khz)).collect();
    assert_eq!(
        rows,
        [
            (200, 250, 0, 3_000_000),
            (300, 400, 1, 2_000_000),
            (400, 500, 0, 3_000_000),
            (500, 900, 0, 1_000_000),
        ]
    );
    assert_eq!(all[3].record, FileOffset(500));
    let within = |start, stop| -> Vec<(u64, u32)> {
        let range = TscRange::new(Tsc(start), Tsc(stop));
        requested_within(&all, range).map(|(ticks, asked)| (ticks.0, asked.khz)).collect()
    };
    assert_eq!(within(240, 310), [(10, 3_000_000), (10, 2_000_000)]);
    assert_eq!(within(450, 600), [(50, 3_000_000), (100, 1_000_000)]);
    assert_eq!(within(250, 300), []);
}

#[test]
fn without_a_joined_clock_nothing_is_known() {
    let stays = [stay(200, 900, Whereabouts::OnCpu(Cpu(0)))];
    assert_eq!(requested_during(&stays, &frequencies(), None), []);
}
