//! Reads the intervals of a source, and says which of them make up the population and what is wrong with the choice.

use std::collections::{BTreeSet, HashSet};

use intervals::{
    Clock, ClockPair, Clocks, Filters, IntervalFile, IntervalSet, Population, Selected, Selection,
    SpanContext, ThreadFacts, TimeSpan,
};
use model::{Cpu, Diagnostic, Interval, Pid, ThreadId, TimeConversion, Tsc};

use super::wanted_cpus::WantedCpus;
use super::{requests, scan};
use crate::capture::{Capture, Watch, clock_of};
use crate::error::{Error, Result};
use crate::request::{self, Source, TimeRange};

/// How many unknown ids are named.
const IDS_NAMED: usize = 20;

/// Reads the intervals that `source` names; `file` is the interval file, if it was read before, `beside` the clock pairs of the
/// recording, which stand in for those of clocks that the file has none of. `watch` receives the progress of a scan of the trace. For a slice a diagnostic notes that it does not hold all of their time.
pub(crate) fn read(
    source: &Source,
    file: Option<IntervalFile>,
    beside: Vec<ClockPair>,
    capture: &Capture<'_>,
    watch: &Watch,
) -> Result<IntervalSet> {
    let mut set = match source {
        Source::File(path) => {
            let file = file.map_or_else(|| IntervalFile::read(path), Ok)?;
            let own: BTreeSet<Clock> = file.pairs().iter().map(|pair| pair.clock).collect();
            let pairs = beside.into_iter().filter(|pair| !own.contains(&pair.clock)).collect();
            let of_records = clock_of(capture.perf());
            let clocks = Clocks { conversion: capture.conversion(), of_records, pairs };
            let contexts = match file.threadless() {
                Some(spans) => contexts(&spans, capture, watch)?,
                None => Vec::new(),
            };
            let mut set = file.finish_with(&clocks, &contexts)?;
            name_processes(&mut set, capture);
            set
        }
        Source::Events(pair) => intervals::from_events(capture.perf(), pair, capture.conversion())?,
        Source::Ptwrite(spec) => scan::ptwrites(capture, spec, watch)?,
        Source::PtRegions(names) => scan::regions(capture, names.as_deref(), watch)?,
        Source::Function(symbol) => scan::calls(capture, symbol, watch)?,
        Source::Requests(servers) => requests::of(capture, servers)?,
    };
    if capture.perf().slice_note().is_some() {
        set.diagnostics.push(Diagnostic::note(
            "this capture is a slice: of intervals other than those it was cut for it holds little, so that waits, devices and \
             typical intervals are not those of the recording; name no intervals to see what the recording says",
        ));
    }
    Ok(set)
}

/// Which of these spans each thread worked for, by the capture's records; where none says so, by PTWRITEs of a span's id.
fn contexts(spans: &HashSet<u64>, capture: &Capture<'_>, watch: &Watch) -> Result<Vec<SpanContext>> {
    let recorded = intervals::span_contexts(capture.perf(), capture.conversion());
    let has_no_ptwrites = capture.perf().intel_pt_config().is_none_or(|config| !config.ptw);
    if !recorded.is_empty() || has_no_ptwrites {
        Ok(recorded)
    } else {
        scan::span_contexts(capture, spans, watch)
    }
}

/// Threads whose process the file does not name have that of the capture's records, or are not known.
fn name_processes(set: &mut IntervalSet, capture: &Capture<'_>) {
    let Some(conversion) = capture.conversion() else { return };
    let mut unknown = 0;
    let mut name = |(thread, at): (&mut Option<ThreadId>, Tsc)| {
        let Some(named) = thread.filter(|thread| thread.pid == Pid::UNKNOWN) else { return };
        let pid = capture.perf().thread_names().process(named.tid, conversion.to_perf_time(at));
        *thread = pid.map(|pid| ThreadId { pid, tid: named.tid });
        unknown += u64::from(thread.is_none());
    };
    for interval in &mut set.intervals {
        let range = interval.range;
        let ends = [(&mut interval.start_thread, range.start), (&mut interval.stop_thread, range.stop)];
        ends.into_iter().for_each(&mut name);
        if let Some(details) = interval.details_mut() {
            let phases = details.phases.iter_mut().map(|phase| (&mut phase.thread, phase.range.start));
            phases.for_each(&mut name);
        }
    }
    if unknown > 0 {
        set.diagnostics.push(Diagnostic::warning(format!(
            "the intervals name no process, and no record of the capture names the threads of {unknown} of their ends: those are \
             measured but cannot be explained"
        )));
    }
}

/// Indices of the intervals that pass the filters.
pub(crate) fn members(
    filters: &request::Filters,
    intervals: &[Interval],
    capture: &Capture<'_>,
) -> Result<Vec<usize>> {
    let filters = Filters {
        times: spans(&filters.times, capture.conversion())?,
        cpus: filters.cpus.clone(),
        pids: filters.pids.clone(),
        tids: filters.tids.clone(),
        comms: filters.comms.clone(),
        labels: filters.labels.clone(),
    };
    let asked = capture.conversion().filter(|_| !filters.cpus.is_empty());
    let cpus = asked.map(|conversion| {
        WantedCpus::new(capture.perf().schedule(), conversion, capture.extent(), &filters.cpus)
    });
    Ok(filters.members(intervals, &Facts { capture, cpus }))
}

/// Times of perf's clock as readings of the TSC.
///
/// # Errors
/// Where there are times, and the capture cannot convert them.
pub(crate) fn spans(times: &[TimeRange], conversion: Option<TimeConversion>) -> Result<Vec<TimeSpan>> {
    if times.is_empty() {
        return Ok(Vec::new());
    }
    let conversion = conversion.ok_or(Error::NoPerfClock)?;
    let reading = |time| conversion.to_tsc(time);
    Ok(times
        .iter()
        .map(|range| TimeSpan { from: range.from.map(reading), to: range.to.map(reading) })
        .collect())
}

/// The ids that no `what` has, as far as they are named.
pub(crate) fn missing_ids(selected: &Selected, what: &str) -> impl Iterator<Item = Diagnostic> {
    let ids = selected.missing_ids.iter().take(IDS_NAMED);
    ids.map(move |id| Diagnostic::warning(format!("no {what} has the id {id}")))
}

/// What to say about a population: ids that are not there, and why it is empty.
pub(crate) fn findings(selected: &Selected, population: &Population<'_>) -> Vec<Diagnostic> {
    let mut findings: Vec<Diagnostic> = missing_ids(selected, "interval").collect();
    let (all, passed) = (population.intervals().len(), population.members().len());
    let why = match (all, passed) {
        (0, _) => Some("the source holds no interval".to_owned()),
        (_, 0) => Some(format!(
            "none of the {all} intervals passes the filters: loosen --time, --cpu, --pid, --tid, --comm or --label"
        )),
        _ => None,
    };
    findings.extend(why.map(|why| Diagnostic::warning(format!("nothing is selected: {why}"))));
    findings
}

/// Why no interval of a population is chosen, where it has any.
pub(crate) fn nothing_chosen(selected: &Selected, population: &Population<'_>) -> Option<Diagnostic> {
    let passed = population.members().len();
    (passed > 0 && selected.indices.is_empty()).then(|| {
        let rule = &selected.rule;
        Diagnostic::warning(format!(
            "nothing is selected: of {passed} intervals none is chosen by: {rule}; --top 1 takes the longest"
        ))
    })
}

/// Refuses limits that no duration can be held against.
pub(crate) fn check_selection(selection: &Selection) -> Result<()> {
    if let Some(percentile) = selection.percentile.filter(|percentile| !(0.0..=100.0).contains(percentile)) {
        return Err(Error::Percentile(percentile));
    }
    if let Some(mad) = selection.mad.filter(|mad| !mad.is_finite() || *mad < 0.0) {
        return Err(Error::MadLimit(mad));
    }
    Ok(())
}

struct Facts<'a> {
    capture: &'a Capture<'a>,
    /// Without a conversion no thread's place is known.
    cpus: Option<WantedCpus<'a>>,
}

impl ThreadFacts for Facts<'_> {
    fn cpus(&self, interval: &Interval) -> Vec<Cpu> {
        // One of those that the filter names is enough for it.
        self.cpus.as_ref().and_then(|cpus| cpus.one_of(interval)).into_iter().collect()
    }

    fn comm(&self, thread: ThreadId, at: Tsc) -> Option<String> {
        self.capture.comm(thread, at)
    }
}
