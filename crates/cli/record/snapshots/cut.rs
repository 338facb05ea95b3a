//! From a ring that perf wrote to a slice of what was slow in it, with the typical intervals of its time.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use analysis::capture::NoMeter;
use analysis::output::write_file;
use analysis::request::{Code, Filters, Input, Source, TimeRange};
use analysis::study::{self, Listing, SLICES};
use analysis::{Capture, Request, slice};
use anyhow::Result;
use attribution::{Stay, Whereabouts};
use intervals::{Clock, Clocks, IntervalFile, MARK_BYTES, Selection};
use model::{Interval, TimeConversion};
use perfdata::{Machine, PerfData};
use pt::PtStream;
use tempfile::NamedTempFile;

use super::Plan;
use super::account::Found;
use super::limits::{Limit, Limits};
use super::ring::{self, Ring};
use super::{SETTLES, TURN, reach};
use crate::output;

/// Of a longer interval file so much is read for a ring, which holds seconds: 700,000 marks.
const RECENT: u64 = 16 << 20;
/// The first line of an interval file in binary form, and its totals; then records of this size (docs/interval-file.md).
const HEAD: u64 = 64 + 8 * RECORD;
const RECORD: u64 = MARK_BYTES as u64;

/// Cuts slices out of rings.
pub(super) struct Cutter<'p> {
    plan: &'p Plan,
    /// The text of the machine file.
    machine: String,
    /// Intervals by their begin's reading of the TSC.
    found: Found,
    /// Those that rang and have a percentile as limit.
    rung: BTreeSet<u64>,
    /// As the last ring has it.
    conversion: Option<TimeConversion>,
    /// When the recording began, until it was said that the rings are too small.
    begun: Option<Instant>,
}

impl<'p> Cutter<'p> {
    pub(super) fn new(plan: &'p Plan, machine: &str) -> Cutter<'p> {
        Cutter {
            plan,
            machine: machine.to_owned(),
            found: Found::default(),
            rung: BTreeSet::new(),
            conversion: None,
            begun: Some(Instant::now()),
        }
    }

    /// Writes a slice of what is slow in the ring and in no slice yet, and removes the ring unless rings are kept. Where it cannot be
    /// used, it stays.
    pub(super) fn take(&mut self, ring: &Ring) {
        self.rung.extend(&ring.rung);
        let cut = if ring.is_wanted { self.cut(ring) } else { ring.share_kernel().map_err(Into::into) };
        match cut {
            // perf's last ring may begin after the program's last interval.
            Err(error) if is_without_intervals(&error) && !self.plan.keep => ring.remove(),
            Err(error) if is_without_intervals(&error) => {}
            Err(error) => {
                output::print_error(&error.context(format!("{} is left as it is", ring.path.display())));
            }
            // What rang marked nothing: the ring is all that there is.
            Ok(()) if ring.is_wanted && (self.plan.keep || !self.plan.marks().exists()) => {}
            Ok(()) => ring.remove(),
        }
    }

    fn cut(&mut self, ring: &Ring) -> Result<()> {
        ring.share_kernel()?;
        write_file(&Machine::place(&ring.path), self.machine.as_bytes())?;
        if !self.plan.marks().exists() {
            return Ok(());
        }
        let recent = self.recent_marks(ring.marks_end)?;
        let marks = recent.as_ref().map_or_else(|| self.plan.marks(), |file| file.path().to_owned());
        let mut request = self.request(&ring.path, marks)?;
        let recorded = self.begun.map(|begun| begun.elapsed());
        let (new, cut_off) = study::with(&request, &NoMeter, |study| -> Result<_> {
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
            let slow = Slow { limits: &self.plan.limits, rung: &self.rung };
            let is_new = |interval: &&Interval| {
                let is_slow = self.conversion.is_some_and(|conversion| slow.has(interval, conversion));
                is_slow && !self.found.kept.contains(&begin(interval))
            };
            let chosen = chosen.filter(is_new);
            Ok(chosen.cloned().partition::<Vec<Interval>, _>(|interval| is_whole(interval, study.capture())))
        })?;
        self.found.cut_off.extend(cut_off.iter().map(begin));
        if new.is_empty() {
            return Ok(());
        }
        let ids = new.iter().map(|interval| interval.id.0).collect();
        request.selection = Selection { ids, ..Selection::default() };
        let (slice, _) = slice::make(&request, &NoMeter, Listing::None, false)?;
        let name = format!("{SLICES}{:04}.data", self.found.slices + 1);
        slice.write(&self.plan.folder.join(name))?;
        self.found.slices += 1;
        self.found.kept.extend(new.iter().map(begin));
        Ok(())
    }

    /// The end of a long interval file, up to `end`: all strings and threads stand in it again and again. `None` where the file is
    /// short.
    fn recent_marks(&self, end: u64) -> Result<Option<NamedTempFile>> {
        let skipped = end.saturating_sub(RECENT + HEAD).next_multiple_of(RECORD);
        if end <= RECENT + HEAD {
            return Ok(None);
        }
        let mut marks = File::open(self.plan.marks())?;
        let mut recent = NamedTempFile::new_in(&self.plan.folder)?;
        std::io::copy(&mut (&mut marks).take(HEAD), &mut recent)?;
        marks.seek(SeekFrom::Start(HEAD + skipped))?;
        std::io::copy(&mut marks.take(end - HEAD - skipped), &mut recent)?;
        Ok(Some(recent))
    }

    /// What is slow in the time of `ring`.
    fn request(&self, ring: &Path, marks: PathBuf) -> Result<Request> {
        let time = PerfData::open(ring)?.time_range();
        let time = time.map(|time| TimeRange { from: Some(time.start), to: Some(time.end) });
        Ok(Request {
            input: Input { path: ring.to_owned(), code: self.code(), ..Input::default() },
            source: Some(Source::File(marks)),
            filters: Filters {
                times: time.into_iter().collect(),
                labels: self.plan.limits.labels(),
                ..Filters::default()
            },
            selection: Selection { over_ns: Some(self.plan.limits.least_ns()), ..Selection::default() },
            ..Request::default()
        })
    }

    /// The programs lie where perf found them, unless the machine is one made up for a test.
    fn code(&self) -> Code {
        let root = self.plan.root.as_path();
        Code { symfs: (root != Path::new("/")).then(|| root.to_owned()), ..Code::default() }
    }

    /// Counts what the program marked in all.
    ///
    /// # Errors
    /// Where the marks cannot be read.
    pub(super) fn finish(mut self, rung: &[u64]) -> Result<Found> {
        self.rung.extend(rung);
        ring::remove_shared(&self.plan.folder);
        let marks = self.plan.marks();
        if !marks.exists() {
            return Ok(self.found);
        }
        let file = IntervalFile::read(&marks)?;
        let clocks =
            Clocks { pairs: file.pairs().to_vec(), conversion: self.conversion, ..Clocks::default() };
        let conversion = match self.conversion {
            Some(conversion) => conversion,
            None => clocks.line(Clock::MonotonicRaw)?.conversion,
        };
        let slow = Slow { limits: &self.plan.limits, rung: &self.rung };
        for interval in file.finish(&clocks)?.intervals {
            if self.plan.limits.of(&interval.label).is_some() {
                self.found.intervals += 1;
                if slow.has(&interval, conversion) {
                    self.found.slow.insert(begin(&interval), interval.range.stop.0);
                }
            }
        }
        Ok(self.found)
    }
}

/// Whether all that was marked lies outside the ring's time.
fn is_without_intervals(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(analysis::Error::OutsideRecording { .. }))
}

/// What is slow.
struct Slow<'a> {
    limits: &'a Limits,
    /// By begin, those that rang and have a percentile as limit.
    rung: &'a BTreeSet<u64>,
}

impl Slow<'_> {
    fn has(&self, interval: &Interval, conversion: TimeConversion) -> bool {
        match self.limits.of(&interval.label) {
            Some(Limit::OverNs(over)) => conversion.duration_ns(interval.range) > over,
            Some(Limit::Percentile) => self.rung.contains(&begin(interval)),
            None => false,
        }
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
