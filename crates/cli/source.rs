//! From the command line's source, filters and selection to the intervals they mean.

use anyhow::{Context, Result, bail};
use intervals::{
    Clocks, EventPair, Filters, IntervalSet, Population, PtwriteSpec, Selected, Selection, ThreadFacts,
    TimeSpan,
};
use model::{Cpu, CpuList, Diagnostic, Interval, PerfTime, Pid, ThreadId, Tid, TimeConversion, Tsc};

use crate::advice;
use crate::args::{SelectionArgs, SourceArgs};
use crate::capture::Capture;
use crate::scan;
use crate::watch::Watch;

/// How many unknown ids are named.
const IDS_NAMED: usize = 20;

/// Whether the command line says where intervals come from.
pub(crate) fn is_given(source: &SourceArgs) -> bool {
    let SourceArgs { intervals, begin, ptwrite, function, .. } = source;
    intervals.is_some() || [begin, ptwrite, function].into_iter().any(Option::is_some)
}

/// Reads the intervals that `source` names; `watch` is told how far that is where it takes a scan of the trace. Of a
/// slice it is said that it does not hold all of their time.
pub(crate) fn read(source: &SourceArgs, capture: &Capture<'_>, watch: &Watch) -> Result<IntervalSet> {
    let mut set = read_any(source, capture, watch)?;
    if capture.perf().slice_note().is_some() {
        set.diagnostics.push(Diagnostic::note(
            "this capture is a slice: of intervals other than those it was cut for it holds little, so that waits, devices and \
             typical intervals are not those of the recording; name no intervals to see what the recording says",
        ));
    }
    Ok(set)
}

fn read_any(source: &SourceArgs, capture: &Capture<'_>, watch: &Watch) -> Result<IntervalSet> {
    if let Some(path) = &source.intervals {
        let clocks = Clocks { conversion: capture.conversion(), pairs: Vec::new() };
        return intervals::read_interval_file(path, &clocks).map_err(advice::on_source);
    }
    if let (Some(begin), Some(end)) = (&source.begin, &source.end) {
        let pair = EventPair { begin: begin.clone(), end: end.clone(), key: source.key.clone() };
        let found = intervals::from_events(capture.perf(), &pair, capture.conversion());
        return found.map_err(advice::on_source);
    }
    if let Some(spec) = &source.ptwrite {
        let spec: PtwriteSpec = spec.parse()?;
        return scan::ptwrites(capture, &spec, watch);
    }
    if let Some(symbol) = &source.function {
        return scan::calls(capture, symbol, watch);
    }
    bail!("say where the intervals come from: --intervals FILE, --begin and --end, --ptwrite or --function")
}

/// Indices of the intervals that pass the filters.
pub(crate) fn members(
    args: &SelectionArgs,
    intervals: &[Interval],
    capture: &Capture<'_>,
) -> Result<Vec<usize>> {
    let filters = Filters {
        times: times(args.time.as_deref(), capture.conversion())?,
        cpus: cpus(args.cpu.as_deref())?,
        pids: args.pid.iter().map(|&pid| Pid(pid)).collect(),
        tids: args.tid.iter().map(|&tid| Tid(tid)).collect(),
        comms: args.comm.clone(),
        labels: args.label.clone(),
    };
    Ok(filters.members(intervals, &Facts(capture)))
}

/// What to say about a population: ids that are not there, and why it is empty.
pub(crate) fn findings(selected: &Selected, population: &Population<'_>) -> Vec<Diagnostic> {
    let ids = selected.missing_ids.iter().take(IDS_NAMED);
    let mut findings: Vec<Diagnostic> =
        ids.map(|id| Diagnostic::warning(format!("no interval has the id {id}"))).collect();
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

/// The criteria of the command line.
pub(crate) fn selection(args: &SelectionArgs) -> Result<Selection> {
    if let Some(percentile) = args.percentile.filter(|percentile| !(0.0..=100.0).contains(percentile)) {
        bail!("--percentile {percentile}: a percentile lies between 0 and 100");
    }
    if let Some(mad) = args.mad.filter(|mad| !mad.is_finite() || *mad < 0.0) {
        bail!("--mad {mad}: a limit for the robust z-score is a number from 0 on; 3.5 is usual");
    }
    Ok(Selection {
        top: args.top,
        over_ns: args.over.as_deref().map(duration_ns).transpose()?,
        percentile: args.percentile,
        mad: args.mad,
        slow_mode: args.slow_mode,
        ids: args.id.clone(),
    })
}

struct Facts<'a>(&'a Capture<'a>);

impl ThreadFacts for Facts<'_> {
    fn cpus(&self, interval: &Interval) -> Vec<Cpu> {
        self.0.cpus_of(interval)
    }

    fn comm(&self, thread: ThreadId, at: Tsc) -> Option<String> {
        self.0.comm(thread, at)
    }
}

/// `10us`, `1.5ms`, `800ns`, `2s`; a bare number is nanoseconds.
pub(crate) fn duration_ns(text: &str) -> Result<u64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic() || c == 'µ').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let decimals: u32 = match unit {
        "" | "ns" => 0,
        "us" | "µs" => 3,
        "ms" => 6,
        "s" => 9,
        _ => bail!("'{text}' is no duration: write it as 800ns, 10us, 1.5ms or 2s"),
    };
    decimal(number.trim(), decimals)
        .with_context(|| format!("'{text}' is no duration: write it as 800ns, 10us, 1.5ms or 2s"))
}

/// A decimal number times 10^`decimals`, exactly; digits beyond that are cut.
fn decimal(text: &str, decimals: u32) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return None;
    }
    let scale = 10u64.checked_pow(decimals)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let width = usize::try_from(decimals).ok()?;
    let padded: String = fraction.chars().chain(std::iter::repeat('0')).take(width).collect();
    let fraction: u64 = if padded.is_empty() { 0 } else { padded.parse().ok()? };
    whole.checked_mul(scale)?.checked_add(fraction)
}

/// perf's `--time`: `START,STOP` in seconds, either may be left out; several ranges separated by blanks.
pub(crate) fn times(text: Option<&str>, conversion: Option<TimeConversion>) -> Result<Vec<TimeSpan>> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let Some(conversion) = conversion else {
        bail!("--time needs perf's clock, and this capture cannot join it with the TSC")
    };
    let reading = |seconds: &str| -> Result<Option<Tsc>> {
        if seconds.is_empty() {
            return Ok(None);
        }
        let ns = decimal(seconds, 9)
            .with_context(|| format!("'{seconds}' is no time: write seconds, as perf script prints them"))?;
        Ok(Some(conversion.to_tsc(PerfTime(ns))))
    };
    text.split_whitespace()
        .map(|range| {
            let (from, to) = range.split_once(',').unwrap_or((range, ""));
            let span = TimeSpan { from: reading(from)?, to: reading(to)? };
            if let (Some(from), Some(to)) = (span.from, span.to)
                && to < from
            {
                bail!("'{range}' is no range of times: STOP lies before START");
            }
            Ok(span)
        })
        .collect()
}

/// perf's `-C`: `0,2-3`.
pub(crate) fn cpus(text: Option<&str>) -> Result<Vec<Cpu>> {
    let text = text.unwrap_or("");
    let list = CpuList::parse(text).with_context(|| format!("'{text}' is no list of CPUs: write 0,2-3"))?;
    Ok(list.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact() {
        for (text, ns) in [
            ("10us", 10_000),
            ("1.5ms", 1_500_000),
            ("800ns", 800),
            ("2s", 2_000_000_000),
            ("7", 7),
            (".5us", 500),
        ] {
            assert_eq!(duration_ns(text).ok(), Some(ns), "{text}");
        }
        for text in ["", "us", "1.2.3us", "-1us", "1h", "99999999999s"] {
            assert!(duration_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn cpu_lists_are_perfs() {
        assert_eq!(cpus(Some("0,2-3")).ok(), Some(vec![Cpu(0), Cpu(2), Cpu(3)]));
        for text in ["x", "3-1", "0-99999999", "1-"] {
            assert!(cpus(Some(text)).is_err(), "{text}");
        }
    }
}
