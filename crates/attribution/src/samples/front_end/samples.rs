//! Samples of front-end events, and the cycles that the sampled instructions retired late.
//!
//! Source: Intel SDM vol. 3, "Timed Processor Event Based Sampling": the retire latency is core cycles between the
//! retirement of the previous instruction and that of the sampled one. perf's own metrics
//! (`FRONTEND_RETIRED.L1I_MISS` times its mean `:R` over the cycles) multiply it with the number of events in the
//! same way.

use model::{Cpu, FileOffset, Ticks, Tsc};
use perfdata::{Sample, TimedRecord, Weight};

use super::event_name::plain_name;
use crate::walk::activity::Run;

/// The processor's mode in user code (`PERF_RECORD_MISC_USER`).
const USER_MODE: u8 = 2;

/// One sample of a front-end event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrontEndSample {
    /// When.
    pub(crate) at: Tsc,
    /// The sampled event, by perf's name.
    pub(crate) event: String,
    /// The record.
    pub(crate) record: FileOffset,
    /// The CPU.
    pub(crate) cpu: Option<Cpu>,
    /// The instruction.
    pub(crate) ip: Option<u64>,
    /// The number of such events it represents; `None` where unknown.
    pub(crate) period: Option<u64>,
    /// How late the instruction retired, in core cycles, where the sample has it.
    pub(crate) cycles: Option<u16>,
    /// What it represents, in ticks: those cycles for each of its events, at the core's rate.
    pub(crate) stall: Ticks,
}

impl FrontEndSample {
    /// `timed` as a sample of a front-end event in user code, if it is one.
    pub(super) fn of(at: Tsc, timed: &TimedRecord<'_>, sample: &Sample<'_>) -> Option<FrontEndSample> {
        let event = sample.event_name().filter(|name| tells(name) && sample.cpu_mode() == USER_MODE)?;
        let fixed = sample.attr().filter(|attr| !attr.freq()).map(|attr| attr.sample_period);
        Some(FrontEndSample {
            at,
            event: event.to_owned(),
            record: timed.offset,
            cpu: timed.cpu,
            ip: sample.ip(),
            period: sample.period().or(fixed).filter(|&period| period > 0),
            cycles: sample.weight().and_then(Weight::retire_latency),
            stall: Ticks(0),
        })
    }
}

/// Whether samples of the event `name` show that instructions did not arrive in time.
pub(super) fn tells(name: &str) -> bool {
    let name = plain_name(name);
    ["frontend-retired", "topdown-fe-bound", "icache", "idq-uops-not-delivered", "idq-bubbles"]
        .iter()
        .any(|part| name.contains(part))
}

/// The samples of an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Samples {
    /// How many of any front-end event.
    pub(crate) count: u64,
    /// The samples of one event: of several events, the one whose instructions retired latest. They overlap, so they
    /// are not added up.
    pub(crate) told: Vec<FrontEndSample>,
}

impl Samples {
    /// `samples`, taken while `runs` ran: their core:bus ratio converts cycles to ticks, which `nominal_ratio`
    /// counts. Where either is not known, a cycle counts as a tick.
    pub(super) fn new(samples: Vec<FrontEndSample>, runs: &[Run], nominal_ratio: u32) -> Samples {
        let count = samples.len() as u64;
        let mut events: Vec<Vec<FrontEndSample>> = Vec::new();
        for mut sample in samples {
            let ratio = run_at(runs, sample.at).map_or(0, |run| run.ratio);
            let cycles = sample.estimate().unwrap_or(0);
            sample.stall = Ticks(match (nominal_ratio, ratio) {
                (0, _) | (_, 0) => cycles,
                (nominal, ratio) => cycles.saturating_mul(u64::from(nominal)) / u64::from(ratio),
            });
            match events.iter_mut().find(|of| of.first().is_some_and(|of| of.event == sample.event)) {
                Some(of) => of.push(sample),
                None => events.push(vec![sample]),
            }
        }
        let stall = |of: &[FrontEndSample]| of.iter().map(|sample| u128::from(sample.stall.0)).sum::<u128>();
        let told = events.into_iter().max_by_key(|of| (stall(of), of.len())).unwrap_or_default();
        Samples { count, told }
    }

    /// Whether each sample represents itself alone: then all of the events are there, not a part of them.
    pub(crate) fn are_all(&self) -> bool {
        self.told.iter().all(|sample| sample.period == Some(1))
    }

    /// The cycles by which the sampled instructions retired late: measured; `None` where no sample has them.
    pub(crate) fn cycles(&self) -> Option<u64> {
        let cycles: Vec<u64> = self.told.iter().filter_map(|sample| sample.cycles).map(u64::from).collect();
        (!cycles.is_empty()).then(|| cycles.iter().sum())
    }

    /// The same for all events that the samples represent: an estimate.
    pub(crate) fn estimate(&self) -> u64 {
        self.told.iter().filter_map(FrontEndSample::estimate).fold(0, u64::saturating_add)
    }

    /// `frontend_retired.l1i_miss:pp: 12 samples, retire latency 340 cycles in all; each stands for 101 events: about 34340
    /// cycles`
    pub(crate) fn story(&self) -> Option<String> {
        let event = &self.told.first()?.event;
        let samples = match self.told.len() {
            1 => "1 sample".to_owned(),
            count => format!("{count} samples"),
        };
        let Some(cycles) = self.cycles() else { return Some(format!("{event}: {samples}")) };
        let periods = || self.told.iter().filter_map(|sample| sample.period);
        let stands_for = match (periods().min(), periods().max()) {
            (Some(1), Some(1)) => String::new(),
            (Some(least), Some(most)) => {
                let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
                format!("; each stands for {range} events: about {} cycles", self.estimate())
            }
            _ => "; for how many events each stands is not recorded".to_owned(),
        };
        Some(format!("{event}: {samples}, retire latency {cycles} cycles in all{stands_for}"))
    }
}

impl FrontEndSample {
    /// The cycles of all events that it represents; of itself alone where their number is unknown.
    fn estimate(&self) -> Option<u64> {
        Some(u64::from(self.cycles?).saturating_mul(self.period.unwrap_or(1)))
    }
}

/// The run in progress at `at`.
pub(crate) fn run_at(runs: &[Run], at: Tsc) -> Option<&Run> {
    let next = runs.partition_point(|run| run.range.start <= at);
    runs.get(next.checked_sub(1)?).filter(|run| run.range.contains(at))
}
