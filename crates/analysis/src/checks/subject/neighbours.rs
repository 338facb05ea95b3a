//! Who else ran: on the interval's CPUs while its thread was off them, and beside it on the same core.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use attribution::Whereabouts;
use intervals::Unit;
use model::{ThreadId, Tsc};
use report::{Check, CheckState};

use super::{Subject, check, listed, not_known, tenths};
use crate::capture::{Capture, Topology};

/// Threads that are named of those that ran beside an interval.
const NAMED: usize = 3;

/// For how many nanoseconds each thread ran.
type Ran = BTreeMap<ThreadId, u64>;

impl Subject<'_> {
    pub(in crate::checks) fn neighbours(&self) -> Check {
        const NAME: &str = "neighbours";
        let (capture, kinds) = (self.capture, self.recorded.kinds);
        let Some(conversion) = capture.conversion() else {
            return not_known(NAME, "the TSC to perf-time conversion is missing");
        };
        if !kinds.tell_switches() {
            return not_known(NAME, "there are no switch records: record with --switch-events");
        }
        let all = self.examined.interval.range.ticks();
        let unknown = self.unknown();
        if self.is_outside() || unknown >= all {
            return not_known(NAME, "the records do not show the CPU of the interval's thread");
        }
        let topology = Topology::new(capture.perf().features(), capture.perf().machine());
        let (mut on_cpu, mut beside) = (Ran::new(), Ran::new());
        let mut doubts = Vec::new();
        // The CPUs that share a core with one of the interval's; `None` where that of one is unknown.
        let (mut shared, mut silent) = (Some(0), Vec::new());
        for stay in &self.examined.stays {
            // Where records lack its own switches, it is the thread itself that runs by them.
            let own = stay.thread.map(|thread| thread.tid);
            let others = |&(thread, _): &(ThreadId, u64)| Some(thread.tid) != own;
            let ran = |cpu| {
                attribution::ran_on(capture.perf().schedule(), cpu, stay.range, conversion)
                    .into_iter()
                    .filter(others)
            };
            match stay.place {
                Whereabouts::OnCpu(cpu) => {
                    let siblings = topology.siblings(cpu);
                    shared = shared.zip(siblings.as_ref()).map(|(count, siblings)| count + siblings.len());
                    for sibling in siblings.into_iter().flatten() {
                        if capture.perf().schedule().on_cpu(sibling).next().is_none() {
                            silent.push(sibling.to_string());
                        }
                        add(&mut beside, ran(sibling));
                    }
                }
                Whereabouts::OffCpu(_) => add(&mut on_cpu, stay.left_cpu.into_iter().flat_map(ran)),
                Whereabouts::Unknown | Whereabouts::NotRun => {}
            }
        }
        let at = self.examined.interval.range.start;
        let nobody = if kinds.tell_others() { "no other thread" } else { "none of the recorded threads" };
        let tell = |ran: &Ran| tell(ran, capture, at).unwrap_or_else(|| nobody.to_owned());
        let mut detail = format!("on its CPU while it was off: {}", tell(&on_cpu));
        let was_on_cpu = self.examined.stays.iter().any(|stay| stay.place.cpu().is_some());
        match shared.filter(|_| was_on_cpu) {
            None if was_on_cpu => doubts.push("the CPU topology is not in the capture".to_owned()),
            None => {}
            Some(0) => detail.push_str("; no SMT sibling"),
            Some(_) => {
                let others = format!("; on the SMT sibling {}", tell(&beside));
                detail.push_str(&others);
            }
        }
        if !silent.is_empty() {
            doubts.push(format!("the threads on CPU {} are unknown: it has no records", listed(silent)));
        }
        if unknown.0 > 0 {
            doubts.push(format!("not known for {} of the interval's time", tenths(unknown.0, all.0)));
        }
        if !kinds.tell_others() {
            doubts.push("only the recorded threads' switches are known".to_owned());
        }
        let state = if doubts.is_empty() { CheckState::Good } else { CheckState::Partial };
        check(NAME, state, [detail].into_iter().chain(doubts).collect::<Vec<_>>().join("; "))
    }
}

/// Adds up for how many nanoseconds each thread ran; the idle task does not count.
fn add(sums: &mut Ran, ran: impl Iterator<Item = (ThreadId, u64)>) {
    for (thread, ns) in ran.filter(|(thread, _)| !thread.is_idle()) {
        *sums.entry(thread).or_default() += ns;
    }
}

/// The three longest, with their times; `None` where there is none. Of some the capture holds no name.
fn tell(sums: &Ran, capture: &Capture<'_>, at: Tsc) -> Option<String> {
    let mut longest: Vec<(&ThreadId, &u64)> = sums.iter().collect();
    longest.sort_by_key(|&(thread, ns)| (Reverse(*ns), *thread));
    let one = |(&thread, &ns): (&ThreadId, &u64)| {
        let who = match capture.comm(thread, at) {
            Some(name) => format!("{name} (tid {})", thread.tid),
            None => format!("tid {}", thread.tid),
        };
        format!("{who} for {}", Unit::Nanoseconds.show(ns))
    };
    let told: Vec<String> = longest.into_iter().take(NAMED).map(one).collect();
    match sums.len() {
        0 => None,
        count if count > NAMED => Some(format!("{} and {} more", told.join(", "), count - NAMED)),
        _ => Some(told.join(", ")),
    }
}
