//! Whether the clocks of a capture agree: the records' with itself, with the trace's, and from CPU to CPU.
//!
//! Input: all records, and a few sync points. Output: findings with their places. What is looked for can only be where
//! something is wrong: records of one ring run backwards; a packet is older than the AUX record before it, or younger
//! than the one after it; a thread runs before it is woken. What disagrees by less than the bounds here is not seen.

use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;

use intervals::Unit;
use model::{Cpu, Diagnostic, FileOffset, PerfTime, Tid, TimeConversion};
use perfdata::{FieldValue, Found, LeaveReason, PerfData, Record, Run, Runs, Schedule, TracepointField};
use pt::PtStream;

use super::streams::Streams;

/// How far a packet and the record about it may lie apart: writing the record takes microseconds.
const SLACK_NS: u64 = 1_000_000;
/// AUX records looked at of each stream, evenly spread: a clock that is wrong stays so.
const AUX_LOOKED_AT: usize = 32;
/// A thread may be woken so long before it has left its CPU.
const ON_ITS_WAY_NS: u64 = 50_000;
/// So many wake-ups that come too late are no accident (a lost record, a thread that did not sleep after all).
const LATE_WAKE_UPS: usize = 3;
/// Findings of a kind that are reported one by one.
const TOLD: usize = 3;

/// The event of a thread that wakes another.
const WAKING: &str = "sched:sched_waking";

/// An AUX record: bytes of a stream, and when it was written.
struct Written {
    aux_offset: u64,
    size: u64,
    time: PerfTime,
    record: FileOffset,
}

/// All that disagrees.
pub(super) fn findings(perf: &PerfData, streams: &Streams<'_>) -> Vec<Diagnostic> {
    let mut found = steps_back(perf);
    let Some(conversion) = perf.time_conversion() else { return found };
    let (mut written, mut wakings) = (BTreeMap::<_, Vec<Written>>::new(), Wakings::new(perf.schedule()));
    let by_thread = streams.are_of_threads();
    let records = perf.records().without_switches().of_events(|attr| attr.name.as_deref() == Some(WAKING));
    let woken = woken_of_events(perf);
    for found in records.with_raw(|event| woken.get(event).is_some_and(Option::is_some)) {
        let record = match found {
            Found::Raw(sample) => {
                let field = woken.get(sample.event).copied().flatten();
                let pid = field.and_then(|field| field.value(sample.raw));
                wakings.see(pid, sample.cpu, sample.time, sample.offset);
                continue;
            }
            Found::Whole(record) => record,
        };
        if let Record::Aux { offset, size, .. } = record.record
            && let Some(time) = record.time
        {
            let thread = record.thread.filter(|_| by_thread).map(|thread| thread.tid);
            let owner = (record.cpu.filter(|_| !by_thread), thread);
            written.entry(owner).or_default().push(Written {
                aux_offset: offset,
                size,
                time,
                record: record.offset,
            });
        }
        if let Record::Sample(sample) = &record.record
            && let Some(time) = record.time
        {
            wakings.see(sample.field("pid"), record.cpu, time, record.offset);
        }
    }
    for (&owner, written) in &written {
        let stream = streams.of_owner(owner);
        // Snapshots have positions of their own.
        if let Some(stream) = stream.filter(|_| !perf.intel_pt().is_some_and(|info| info.snapshot_mode)) {
            found.extend(against_trace(stream, written, conversion));
        }
    }
    found.extend(wakings.findings());
    found
}

/// By the number of each event: the field in which a wake-up has the woken thread.
fn woken_of_events(perf: &PerfData) -> Vec<Option<&TracepointField>> {
    let field = |attr| perf.tracepoint_format(attr)?.field("pid");
    perf.attrs().iter().map(field).collect()
}

/// Records of one ring that run backwards.
fn steps_back(perf: &PerfData) -> Vec<Diagnostic> {
    let steps = perf.clock_steps();
    let tell = |step: &perfdata::ClockStep| {
        let by = tell_ns(step.from.0 - step.to.0);
        let what = format!(
            "the clock of the records steps back by {by} here: what switches, wake-ups and interrupts say of \
             intervals around it may be of another time"
        );
        Diagnostic::warning(what).on_cpu(step.cpu).at_offset(step.record)
    };
    let mut told: Vec<Diagnostic> = steps.iter().take(TOLD).map(tell).collect();
    if steps.len() > TOLD {
        told.push(Diagnostic::warning(format!(
            "the records' clock steps back {} times more",
            steps.len() - TOLD
        )));
    }
    told
}

/// The first sync point of each piece that an AUX record announces, against that record and the one before it.
fn against_trace(
    stream: &PtStream<'_>,
    written: &[Written],
    conversion: TimeConversion,
) -> Option<Diagnostic> {
    let every = written.len().div_ceil(AUX_LOOKED_AT).max(1);
    let looked_at = (0..written.len()).step_by(every).map(|index| (index.checked_sub(1), &written[index]));
    looked_at.into_iter().find_map(|(before, piece)| {
        let sync = stream.sync_from(piece.aux_offset)?;
        let inside = sync.offset < piece.aux_offset.saturating_add(piece.size);
        let at = conversion.to_perf_time(sync.tsc.filter(|_| inside)?);
        let before = before.map_or(PerfTime(0), |index| written[index].time);
        let by = if at.0.saturating_add(SLACK_NS) < before.0 {
            before.0 - at.0
        } else if at.0 > piece.time.0.saturating_add(SLACK_NS) {
            at.0 - piece.time.0
        } else {
            return None;
        };
        let what = format!(
            "the clocks of trace and records disagree by {} or more: PT bytes of {} ns lie between AUX records of {} and \
             {} ns; switches, wake-ups and interrupts cannot be trusted to be of the trace's time",
            tell_ns(by),
            at.0,
            before.0,
            piece.time.0
        );
        let place = Diagnostic::warning(what).on_cpu(stream.cpu()).at_offset(piece.record);
        Some(place.at_aux(sync.offset))
    })
}

/// Wake-ups from one CPU to another.
#[derive(Default)]
struct Judged {
    /// How many came in time.
    in_time: usize,
    /// By how many nanoseconds the others came too late, and their records.
    late: Vec<(u64, FileOffset)>,
}

/// Wake-ups beside what the woken threads did.
struct Wakings<'a> {
    schedule: &'a Schedule,
    threads: HashMap<Tid, Woken<'a>>,
    /// By waking and woken CPU.
    pairs: BTreeMap<(Cpu, Cpu), Judged>,
}

/// A thread that is woken again and again.
struct Woken<'a> {
    /// When it was last.
    last: Option<PerfTime>,
    /// The last of its runs that was over then, and those after it.
    before: Option<&'a Run>,
    after: Peekable<Runs<'a>>,
}

impl<'a> Woken<'a> {
    /// When it went to sleep before its run that lasts at `time`, or, where it sleeps then, before the next one; and that run.
    fn around(&mut self, time: PerfTime) -> Option<(PerfTime, &'a Run)> {
        while let Some(over) = self.after.next_if(|run| run.stop <= time) {
            self.before = Some(over);
        }
        let before = self.before.filter(|run| matches!(run.leave, LeaveReason::Slept(_)))?;
        Some((before.stop, self.after.peek()?))
    }
}

impl<'a> Wakings<'a> {
    fn new(schedule: &'a Schedule) -> Wakings<'a> {
        Wakings { schedule, threads: HashMap::new(), pairs: BTreeMap::new() }
    }

    /// A wake-up of thread `pid`; they come in the order of time.
    fn see(&mut self, pid: Option<FieldValue<'_>>, cpu: Option<Cpu>, time: PerfTime, record: FileOffset) {
        let tid = pid.and_then(FieldValue::as_u64).and_then(|pid| i32::try_from(pid).ok()).map(Tid);
        let (Some(tid), Some(cpu)) = (tid, cpu) else { return };
        let after = || self.schedule.of_thread(tid).peekable();
        let woken = self.threads.entry(tid);
        let woken = woken.or_insert_with(|| Woken { last: None, before: None, after: after() });
        let last = woken.last.replace(time);
        let Some((left, run)) = woken.around(time) else { return };
        if run.cpu == cpu {
            return;
        }
        let judged = self.pairs.entry((cpu, run.cpu)).or_default();
        if time <= run.start {
            judged.in_time += 1;
        } else if last.is_none_or(|last| last.0.saturating_add(ON_ITS_WAY_NS) < left.0) {
            judged.late.push((time.0 - run.start.0, record));
        }
    }

    /// The pairs of CPUs whose clocks cannot agree.
    fn findings(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (&(waking, woken), Judged { in_time, late }) in &self.pairs {
            // Were it one record in many, it would be that record.
            if late.len() < LATE_WAKE_UPS || late.len() * 10 < *in_time {
                continue;
            }
            let mut by: Vec<u64> = late.iter().map(|&(ns, _)| ns).collect();
            by.sort_unstable();
            let what = format!(
                "the clocks of CPU {waking} and CPU {woken} disagree, by {} or so: {} of {} threads ran on CPU {woken} \
                 before CPU {waking} woke them; waits, and what other threads did during them, are off by as much",
                tell_ns(by[by.len() / 2]),
                late.len(),
                late.len() + in_time
            );
            found.push(Diagnostic::warning(what).on_cpu(Some(woken)).at_offset(late[0].1));
        }
        found
    }
}

fn tell_ns(ns: u64) -> String {
    Unit::Nanoseconds.show(ns)
}
