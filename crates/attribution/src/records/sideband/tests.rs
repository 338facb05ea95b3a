//! Explaining records by subject, by hand.

use super::*;
use crate::testing::script::{WORKER, WRITER, conversion, record};

const KERNEL: u64 = 0xffff_ffff_8100_0000;

fn switch(time: u64, cookie: u64) -> SidebandEvent {
    let event = record(time, 0, WORKER, Side::Begin, EventKind::SwitchOut);
    SidebandEvent { chain: vec![KERNEL], cookie: Some(cookie), ..event }
}

fn user(time: u64, thread: ThreadId, cookie: u64, address: u64) -> SidebandEvent {
    let event = record(time, 1, thread, Side::Begin, EventKind::UserChain);
    SidebandEvent { chain: vec![address], cookie: Some(cookie), ..event }
}

/// Two samples of one stay in the kernel, one of another; a thread with the same cookie; one whose record is still to come.
#[test]
fn a_deferred_callchain_belongs_to_the_samples_with_its_cookie() {
    let events = vec![
        switch(10, 7),
        switch(20, 7),
        user(25, WRITER, 7, 0x4000),
        user(30, WORKER, 7, 0x1000),
        switch(40, 8),
        switch(60, 9),
        user(50, WORKER, 8, 0x2000),
    ];
    let sideband = Sideband::new(events);
    let chains = |sideband: &Sideband| -> Vec<Vec<u64>> {
        sideband.events().iter().map(|event| event.chain.clone()).collect()
    };
    let first = [vec![KERNEL, 0x1000], vec![KERNEL, 0x1000], vec![KERNEL, 0x2000]];
    assert_eq!(chains(&sideband), [&first[..], &[vec![KERNEL]]].concat());
    assert!(sideband.awaits_chains());
    let sideband = sideband.with(vec![user(70, WORKER, 9, 0x3000)]);
    assert_eq!(chains(&sideband), [&first[..], &[vec![KERNEL, 0x3000]]].concat());
    assert!(!sideband.awaits_chains());
}

/// Each stretch of events that others share against the same events alone, by all ways to look for one.
#[test]
fn a_part_is_what_its_events_are_alone() {
    let call = |time, thread, side| {
        let arguments = Vec::new().into();
        record(time, 0, thread, side, EventKind::Syscall { number: 1, arguments })
    };
    let waking = |time, target: ThreadId| {
        record(time, 1, WORKER, Side::Begin, EventKind::Waking { target: target.tid, by_waker: true })
    };
    let idle = |time, state: Option<u32>| {
        let side = if state.is_some() { Side::Begin } else { Side::End };
        record(time, 1, WORKER, side, EventKind::Idle { state })
    };
    let all = vec![
        call(10, WORKER, Side::Begin),
        call(10, WRITER, Side::Begin),
        idle(20, Some(1)),
        waking(30, WRITER),
        idle(30, None),
        call(40, WRITER, Side::End),
        call(50, WRITER, Side::Begin),
        waking(50, WRITER),
    ];
    let shared = Arc::new(Indexed::new(all.clone()));
    let whole = TscRange::new(Tsc(0), Tsc(100));
    let found = |sideband: &Sideband| -> Vec<Vec<SidebandEvent>> {
        let calls = [WORKER, WRITER].map(|thread| {
            let last = (0..60).filter_map(|at| sideband.last_call(thread.tid, Tsc(at)));
            let back = sideband.calls_back(thread.tid, Tsc(50));
            last.chain(sideband.next_call(thread.tid, Tsc(10))).chain(back).cloned().collect()
        });
        let exit =
            sideband.idle_exit(Cpu(1), whole).into_iter().flat_map(|(entered, awake)| [entered, awake]);
        let wakings = sideband.wakings(WRITER.tid, whole);
        let others = wakings.chain(sideband.calls_at(Tsc(45))).chain(sideband.first_on(Cpu(1), whole));
        [vec![exit.cloned().collect(), others.cloned().collect()], calls.into()].concat()
    };
    for from in 0..=all.len() {
        for until in from..=all.len() {
            let (part, alone) =
                (Sideband::part_of(shared.clone(), from, until), Sideband::new(all[from..until].to_vec()));
            assert_eq!(part.events(), alone.events());
            assert_eq!(found(&part), found(&alone), "{from}..{until}");
        }
    }
    assert!(Sideband::part_of(shared, 9, 12).events().is_empty());
}

/// Times off the CPU from 100 to 300 and from 500 to 600: a moment of the second, one between, one of another thread's.
#[test]
fn off_cpu_time_is_that_of_the_moment() {
    let back = |time, target, ns, address| {
        let event = record(time, 0, WRITER, Side::Begin, EventKind::OffCpu { target, ns });
        SidebandEvent { chain: vec![address], ..event }
    };
    let sideband = Sideband::new(vec![
        back(300, WORKER.tid, 200, 1),
        back(450, WRITER.tid, 400, 2),
        back(600, WORKER.tid, 100, 3),
    ]);
    let chain = |tid, at| sideband.off_cpu_chain(tid, Tsc(at), conversion()).map(<[u64]>::to_vec);
    assert_eq!(chain(WORKER.tid, 200), Some(vec![1]));
    assert_eq!(chain(WORKER.tid, 550), Some(vec![3]));
    assert_eq!((chain(WORKER.tid, 400), chain(WORKER.tid, 700)), (None, None));
    assert_eq!(chain(WRITER.tid, 200), Some(vec![2]));
}

/// The flag from the second record on; a record of another CPU, and one of another thread before.
#[test]
fn a_lazy_request_is_as_old_as_its_first_record() {
    let at = |time, cpu, thread, lazy| SidebandEvent {
        lazy,
        ..record(time, cpu, thread, Side::Begin, EventKind::Softirq { vector: 1 })
    };
    let events = vec![
        at(5, 0, WRITER, true),
        at(10, 0, WORKER, false),
        at(20, 0, WORKER, true),
        at(25, 1, WRITER, false),
        at(30, 0, WORKER, true),
    ];
    let sideband = Sideband::new(events);
    assert_eq!(sideband.lazy_since(Cpu(0), WORKER.tid, Tsc(40)), Some(Tsc(20)));
    assert_eq!(sideband.lazy_since(Cpu(0), WORKER.tid, Tsc(15)), None);
    assert_eq!(sideband.lazy_since(Cpu(1), WORKER.tid, Tsc(40)), None);
}
