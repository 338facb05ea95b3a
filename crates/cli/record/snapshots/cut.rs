//! From a ring that perf wrote to a slice of what was slow in it, with the typical intervals of its time.

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::time::Instant;

use analysis::capture::NoMeter;
use analysis::request::{Code, Filters, Input, Source, TimeRange};
use analysis::study::{self, Listing, SLICES};
use analysis::{Capture, Request, slice};
use anyhow::{Result, ensure};
use attribution::{Stay, Whereabouts};
use intervals::{PtwriteSpec, Selection};
use model::{Interval, TimeConversion};
use perfdata::PerfData;
use pt::PtStream;

use super::Plan;
use super::account::Counts;
use super::beside::Beside;
use super::limits::{Limit, Limits};
use super::marked::Marks;
use super::pairs::Known;
use super::ring::{self, Ring};
use super::watched::Watched;
use super::{SETTLES, TURN, reach};
use crate::output;
use crate::record::clocks::Readings;

/// An interval of a ring's trace: its end, and begin and end of a slow one.
type Seen = (u64, Option<(u64, u64)>);

/// Cuts slices out of rings.
pub(super) struct Cutter<'p> {
    plan: &'p Plan,
    beside: &'p Beside,
    readings: &'p Readings,
    /// Rings that were cut.
    cut: u64,
    marks: Marks,
    /// Intervals by their begin's reading of the TSC.
    counts: Counts,
    /// Pairs of events that rang.
    known: Known,
    /// Of a program that marks by PTWRITE: without an interval file its marks are in the rings alone.
    ptwrite: Option<PtwriteSpec>,
    /// Intervals of rings that end up to here are counted.
    counted_until: u64,
    /// As the last ring has it.
    conversion: Option<TimeConversion>,
    /// When the recording began, until it was said that the rings are too small.
    begun: Option<Instant>,
}

impl<'p> Cutter<'p> {
    pub(super) fn new(plan: &'p Plan, beside: &'p Beside, readings: &'p Readings) -> Cutter<'p> {
        Cutter {
            plan,
            beside,
            readings,
            cut: 0,
            marks: Marks::of(plan.marks()),
            counts: Counts::default(),
            known: Known::default(),
            ptwrite: beside.ptwrite(),
            counted_until: 0,
            conversion: None,
            begun: Some(Instant::now()),
        }
    }

    /// Writes a slice of what is slow in the ring and in no slice yet, and removes the ring unless rings are kept. Where it cannot be
    /// used, it stays.
    pub(super) fn take(&mut self, mut ring: Ring) {
        ring.watched.paired.iter().for_each(|&paired| self.known.add(paired));
        self.counts.hear(mem::take(&mut ring.watched));
        let cut = if ring.is_wanted {
            self.cut(&ring)
        } else {
            ring.share_kernel().map(|()| None).map_err(Into::into)
        };
        let slice = cut.as_ref().ok().and_then(Clone::clone);
        match cut {
            // perf's last ring may begin after the program's last interval.
            Err(error) if is_without_intervals(&error) && !self.plan.keep => ring.remove(),
            Err(error) if is_without_intervals(&error) => {}
            Err(error) => {
                output::print_error(&error.context(format!("{} is left as it is", ring.path.display())));
            }
            // What rang marked nothing: the ring is all that there is.
            Ok(_) if ring.is_wanted && (self.plan.keep || !self.has_intervals()) => {}
            Ok(_) => ring.remove(),
        }
        if let Some(slice) = slice {
            self.bundle(&slice, &ring);
        }
    }

    /// The slice, where something was slow.
    fn cut(&mut self, ring: &Ring) -> Result<Option<PathBuf>> {
        ring.share_kernel()?;
        self.beside.write(&ring.path)?;
        self.readings.write_until_now(&self.plan.clocks())?;
        if !self.has_intervals() {
            return Ok(None);
        }
        let of_trace = self.of_trace();
        let recent = if self.plan.pair.is_some() || of_trace.is_some() {
            None
        } else {
            self.marks.recent(ring.marks_end, &self.plan.folder)?
        };
        let source = match (&self.plan.pair, &of_trace, &recent) {
            (Some(pair), ..) => Source::Events(pair.clone()),
            (None, Some(spec), _) => Source::Ptwrite(spec.clone()),
            (None, None, Some(recent)) => Source::File(recent.path().to_owned()),
            (None, None, None) => Source::File(self.plan.marks()),
        };
        let request = self.request(&ring.path, source)?;
        self.cut += 1;
        // All records of a ring are walked: of a long recording's, the 1st, 2nd, 4th, 8th.
        let recorded = self.begun.filter(|_| self.cut.is_power_of_two()).map(|begun| begun.elapsed());
        let (new, cut_off, all) = study::with(&request, &NoMeter, |study| -> Result<_> {
            let too_small = recorded.and_then(|recorded| {
                let reach = reach::least(study.capture())?;
                reach::warning(reach, recorded, self.plan.limits.least_ns(), SETTLES + TURN)
            });
            if let Some(warning) = too_small {
                output::print_note(&warning);
                self.begun = None;
            }
            self.conversion = study.capture().conversion().or(self.conversion);
            let chosen = study.selected().indices.iter().map(|&index| &study.intervals()[index]);
            let slow = slow(self.plan, &self.counts, &self.known);
            let chosen = chosen.filter_map(|interval| {
                let begin = slow.begin_of(interval, self.conversion?)?;
                (!self.counts.is_kept(begin)).then_some((interval, begin))
            });
            let (whole, cut_off): (Vec<_>, Vec<_>) =
                chosen.partition(|(interval, _)| is_whole(interval, study.capture()));
            let whole: Vec<_> = whole.into_iter().map(|(interval, begin)| (interval.id.0, begin)).collect();
            let all = if of_trace.is_some() { self.uncounted(study.intervals())? } else { Vec::new() };
            Ok((whole, cut_off.into_iter().map(|(_, begin)| begin).collect::<Vec<u64>>(), all))
        })?;
        self.counts.add_cut_off(cut_off.into_iter());
        let slice = if new.is_empty() { None } else { Some(self.slice(request, &new)?) };
        for (end, slow) in all {
            self.counts.add(slow);
            self.counted_until = self.counted_until.max(end);
        }
        Ok(slice)
    }

    /// Intervals of a ring's trace that were not counted.
    ///
    /// # Errors
    /// Where there are none at all: what rang is not to be found.
    fn uncounted(&self, intervals: &[Interval]) -> Result<Vec<Seen>> {
        ensure!(!intervals.is_empty(), "no PTWRITE of the program is in the trace");
        let slow = slow(self.plan, &self.counts, &self.known);
        let is_new = |interval: &&Interval| {
            interval.range.stop.0 > self.counted_until && self.plan.limits.of(&interval.label).is_some()
        };
        let counted = |interval: &Interval| {
            let end = interval.range.stop.0;
            let begin = self.conversion.and_then(|conversion| slow.begin_of(interval, conversion));
            (end, begin.map(|begin| (begin, end)))
        };
        Ok(intervals.iter().filter(is_new).map(counted).collect())
    }

    /// Writes the slice of these intervals: ids and begins.
    fn slice(&mut self, mut request: Request, new: &[(u64, u64)]) -> Result<PathBuf> {
        let ids = new.iter().map(|&(id, _)| id).collect();
        request.selection = Selection { ids, ..Selection::default() };
        let (slice, _) = slice::make(&request, &NoMeter, Listing::None, false)?;
        let path = self.plan.folder.join(format!("{SLICES}{:04}.data", self.counts.slices + 1));
        slice.write(&path)?;
        self.counts.add_slice(new.iter().map(|&(_, begin)| begin));
        Ok(path)
    }

    /// What the PTWRITEs of rings mean, where they are all that says when intervals were.
    fn of_trace(&self) -> Option<PtwriteSpec> {
        self.ptwrite.clone().filter(|_| self.plan.pair.is_none() && !self.plan.marks().exists())
    }

    /// Whether it is known what the intervals are: else what rang is a whole ring.
    fn has_intervals(&self) -> bool {
        self.plan.pair.is_some() || self.plan.marks().exists() || self.ptwrite.is_some()
    }

    /// What is slow in the time of `ring`.
    fn request(&self, ring: &Path, source: Source) -> Result<Request> {
        let time = PerfData::open(ring)?.time_range();
        let time = time.map(|time| TimeRange { from: Some(time.start), to: Some(time.end) });
        Ok(Request {
            input: Input { path: ring.to_owned(), code: self.code(), ..Input::default() },
            source: Some(source),
            filters: Filters {
                times: time.into_iter().collect(),
                labels: self.plan.limits.labels(),
                ..Filters::default()
            },
            selection: Selection { over_ns: Some(self.over_ns()), ..Selection::default() },
            ..Request::default()
        })
    }

    /// What is longer may be slow: perf reads its clock microseconds before or after the buffer in which pairs of events are.
    fn over_ns(&self) -> u64 {
        let least = self.plan.limits.least_ns();
        if self.plan.pair.is_some() { least - least / 10 } else { least }
    }

    /// The programs lie where perf found them, unless the machine is one made up for a test.
    fn code(&self) -> Code {
        let root = self.plan.root.as_path();
        Code { symfs: (root != Path::new("/")).then(|| root.to_owned()), ..Code::default() }
    }

    /// Counts what ended up to `until`, when the interval file had `end` bytes.
    fn count(&mut self, end: u64, until: u64) -> Result<()> {
        if self.plan.pair.is_some() {
            self.counts.add_paired(until);
            return Ok(());
        }
        if self.of_trace().is_some() {
            // Those of rings were counted with them; what is in no ring was never seen.
            self.counts.forget_until(until);
            return Ok(());
        }
        let (limits, counts, known) = (&self.plan.limits, &mut self.counts, &self.known);
        self.marks.count(end, until, self.conversion, &mut |interval, conversion| {
            if limits.of(&interval.label).is_some() {
                let begin = slow(self.plan, counts, known).begin_of(interval, conversion);
                counts.add(begin.map(|begin| (begin, interval.range.stop.0)));
            }
        })?;
        self.counts.forget_until(until);
        Ok(())
    }

    /// Makes a bundle of the slice, where bundles are wanted. The slice goes: what lies on the disk is bounded.
    fn bundle(&mut self, slice: &Path, ring: &Ring) {
        let Some(bundles) = &self.plan.bundles else { return };
        let made = self.count(ring.marks_end, ring.marked_until);
        let code = Code { mapped_since: Some(ring.mapped_since), ..self.code() };
        let kept = ring.path.file_name().map(|name| name.to_string_lossy()).filter(|_| self.plan.keep);
        let part = self.counts.part(self.plan);
        let made = made.and_then(|()| bundles.make(slice, code, part, kept.as_deref()));
        match made {
            Ok(path) => self.counts.begin_part(path),
            Err(error) => {
                output::print_error(&error.context(format!("no bundle is made of {}", slice.display())));
                self.counts.lose_part();
            }
        }
        for removed in bundles.make_room() {
            let name = removed.file_name().unwrap_or_default().to_string_lossy();
            output::print_note(&format!("{name} is removed: --bundle-disk is used up"));
            self.counts.lose_bundle(&removed);
        }
        if !self.plan.keep {
            ring::remove(slice);
        }
    }

    /// Counts what the program marked in all; `watched` is what was heard since the last ring.
    ///
    /// # Errors
    /// Where the marks cannot be read.
    pub(super) fn finish(mut self, watched: Watched) -> Result<Counts> {
        self.counts.hear(watched);
        ring::remove_shared(&self.plan.folder);
        if self.has_intervals() {
            let end = fs::metadata(self.marks.path()).map_or(0, |marks| marks.len());
            self.count(end, u64::MAX)?;
        }
        Ok(self.counts)
    }
}

/// Whether all that was marked lies outside the ring's time, or no event of a pair within.
fn is_without_intervals(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(
            analysis::Error::OutsideRecording { .. }
                | analysis::Error::Intervals(intervals::Error::NoSuchEvent { .. })
        )
    )
}

/// What is slow.
struct Slow<'a> {
    limits: &'a Limits,
    counts: &'a Counts,
    /// The pairs that rang, where the intervals are pairs of events.
    by_events: Option<&'a Known>,
}

fn slow<'a>(plan: &'a Plan, counts: &'a Counts, known: &'a Known) -> Slow<'a> {
    Slow { limits: &plan.limits, counts, by_events: plan.pair.is_some().then_some(known) }
}

impl Slow<'_> {
    /// Where a slow interval begins, as the account has it; `None` of one that is not slow.
    fn begin_of(&self, interval: &Interval, conversion: TimeConversion) -> Option<u64> {
        if let Some(known) = self.by_events {
            return known.of(interval).map(|paired| paired.begin);
        }
        let is_slow = match self.limits.of(&interval.label)? {
            Limit::OverNs(over) => conversion.duration_ns(interval.range) > over,
            Limit::Percentile => self.counts.has_rung(begin(interval)),
        };
        is_slow.then(|| begin(interval))
    }
}

/// What an interval is known by in every part of the file: its begin.
fn begin(interval: &Interval) -> u64 {
    interval.range.start.0
}

/// Whether the rings hold all of the interval: each CPU's ring reaches back as far as that CPU's records allow, so it is known at any
/// time where the thread was; and where there is a trace, there is one of all its time on CPUs.
fn is_whole(interval: &Interval, capture: &Capture<'_>) -> bool {
    let stays = attribution::stays(interval, capture.perf().schedule(), capture.conversion());
    let reaches = capture.extent().is_some_and(|extent| interval.range.stop <= extent.stop);
    reaches
        && !stays.is_empty()
        && stays.iter().all(|stay| stay.place != Whereabouts::Unknown && is_traced(stay, capture))
}

/// Whether the trace, if there is any, reaches back to the begin of a residency: the ring may be younger than the records.
fn is_traced(stay: &Stay, capture: &Capture<'_>) -> bool {
    let Some((cpu, thread)) = stay.traced_by().filter(|_| capture.streams().next().is_some()) else {
        return true;
    };
    let first = capture.stream(cpu, thread).and_then(PtStream::first_sync);
    first.and_then(|sync| sync.tsc).is_some_and(|begin| begin <= stay.range.start)
}
