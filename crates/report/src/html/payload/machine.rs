//! The machine's CPUs in the payload: who was on them and the wake-ups; bounded in runs and wake-ups.

use std::cmp::Reverse;

use serde::Serialize;

use super::texts::Texts;
use crate::machine::{CpuReport, Machine};

/// Runs of the whole page, and likewise wake-ups.
const MOST_RUNS: usize = 16_000;
const MOST_WAKES: usize = 4000;

#[derive(Default, Serialize)]
pub(super) struct MachineTwin {
    /// The CPU's number and its runs.
    cpus: Vec<(u32, Vec<RunTwin>)>,
    wakes: Vec<WakeTwin>,
    /// What is not here.
    left: u64,
}

/// Offset, duration, tid, name.
#[derive(Serialize)]
struct RunTwin(u64, u64, i32, usize);

/// Offset, the waker's CPU, the waker's tid, the woken thread's tid.
#[derive(Serialize)]
struct WakeTwin(u64, Option<u32>, i32, i32);

impl MachineTwin {
    /// The machine around one of `outliers`.
    pub(super) fn new(machine: &Machine, outliers: usize, texts: &mut Texts) -> MachineTwin {
        let room = MOST_RUNS / outliers / machine.cpus.len().max(1);
        let mut left = machine.left_out;
        let mut cpu = |cpu: &CpuReport| {
            let shown = longest(cpu, room);
            left = left.saturating_add((cpu.runs.len() - shown.len()) as u64);
            let run = |at: usize| {
                let run = &cpu.runs[at];
                let name = texts.index(&Machine::words(run.tid, &run.comm));
                RunTwin(run.offset_ns, run.duration_ns, run.tid, name)
            };
            (cpu.cpu, shown.into_iter().map(run).collect())
        };
        let cpus = machine.cpus.iter().map(&mut cpu).collect();
        let shown = &machine.wakeups[..machine.wakeups.len().min(MOST_WAKES / outliers)];
        left = left.saturating_add((machine.wakeups.len() - shown.len()) as u64);
        let wakes = shown.iter().map(|one| WakeTwin(one.offset_ns, one.cpu, one.waker, one.target)).collect();
        MachineTwin { cpus, wakes, left }
    }
}

/// The places of the longest runs, in order of time.
fn longest(cpu: &CpuReport, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cpu.runs.len()).collect();
    order.sort_by_key(|&at| (Reverse(cpu.runs[at].duration_ns), at));
    order.truncate(most);
    order.sort_unstable();
    order
}
