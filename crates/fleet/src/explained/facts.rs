//! The row in `captures`: where and how it was recorded, and what became of it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use analysis::bundle::Opened;
use analysis::study::Study;
use model::{Interval, ThreadId};
use pt::EngineKind;
use report::{Report, Snapshots};
use serde_json::json;

use super::calendar::{self, Utc};
use super::delivery::Delivery;
use crate::hash;
use crate::row::{CaptureRow, filled, int};

/// What a program is called of which no name is recorded.
const NO_SERVICE: &str = "unknown";
/// The day of what has neither a clock that is UTC nor the tag `day`.
const NO_DAY: &str = "unknown";

/// What the rows of a capture are made of.
pub(super) struct Facts<'a, 's> {
    pub(super) delivery: &'a Delivery,
    pub(super) opened: Option<&'a Opened>,
    pub(super) capture: &'a str,
    pub(super) study: &'a Study<'s>,
    pub(super) report: &'a Report,
    pub(super) clock: Utc,
}

impl Facts<'_, '_> {
    /// The capture's row.
    pub(super) fn row(&self, status: &str, error: Option<String>) -> CaptureRow {
        let (facts, tags) = (&self.report.capture, tags(self.delivery, self.opened));
        let tag = |name: &str| tags.get(name).cloned();
        let times = self.study.capture().perf().time_range();
        let begin_ns = times.as_ref().and_then(|times| self.clock.at(times.start));
        let is_redacted = self.opened.is_some_and(Opened::is_redacted);
        let host = facts.hostname.clone().filter(|_| !is_redacted);
        let (weight, skipped_triggers, trigger) = weight(self.report.population.snapshots.as_ref());
        CaptureRow {
            capture: self.capture.to_owned(),
            uri: self.delivery.uri.clone(),
            day: begin_ns.map_or_else(|| day(&tags), calendar::day_of),
            service: service(&tags).unwrap_or_else(|| self.program()),
            host: tag("host").or(host),
            release: tag("release"),
            tags: as_json(&tags),
            build_ids: as_json(&self.build_ids()),
            cpu_model: facts.cpu_desc.clone(),
            cpuid: facts.cpuid.clone(),
            microcode: tag("microcode").or_else(|| self.microcode()),
            kernel: facts.os_release.clone(),
            perf_version: facts.perf_version.clone(),
            begin_ns,
            end_ns: times.and_then(|times| self.clock.at(times.end)),
            tsc_hz: facts.tsc_hz.map(int),
            bytes: bytes(self.delivery.path()),
            trace_bytes: facts.trace_bytes.map(int),
            lost_records: facts.lost_records.map(int),
            truncated_aux: facts.truncated_aux.map(int),
            trigger,
            weight,
            skipped_triggers,
            status: status.to_owned(),
            error,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            options: options(self.delivery, &self.report.selection.rule, Some(self.study.capture().engine())),
            whole: tag("whole"),
        }
    }

    /// What the machine file beside the recording says.
    fn microcode(&self) -> Option<String> {
        self.study.capture().perf().machine()?.microcode.clone()
    }

    /// The name that most intervals' processes have.
    fn program(&self) -> String {
        let capture = self.study.capture();
        let mut names: HashMap<String, u64> = HashMap::new();
        for &index in self.study.population().members() {
            let interval: &Interval = &self.study.intervals()[index];
            let Some(thread) = interval.start_thread.or(interval.stop_thread) else { continue };
            let main = ThreadId { tid: model::Tid(thread.pid.0), ..thread };
            let at = interval.range.start;
            if let Some(name) = capture.comm(main, at).or_else(|| capture.comm(thread, at)) {
                *names.entry(name).or_default() += 1;
            }
        }
        let most = names.into_iter().max_by(|one, other| one.1.cmp(&other.1).then(other.0.cmp(&one.0)));
        most.map(|(name, _)| name).filter(|name| !name.is_empty()).unwrap_or_else(|| NO_SERVICE.to_owned())
    }

    /// Those of the files that served for code, by the names that the recording has.
    pub(super) fn build_ids(&self) -> BTreeMap<String, String> {
        let files = self.study.capture().images().used_files().into_iter();
        files.filter_map(|file| Some((file.name, file.build_id.or(file.own_build_id)?.to_string()))).collect()
    }
}

/// The row of a file that has no others.
pub(super) fn of_unreadable(delivery: &Delivery, status: &str, error: &str) -> CaptureRow {
    let tags = tags(delivery, None);
    CaptureRow {
        capture: hash::of_unreadable(delivery.path(), &delivery.uri),
        uri: delivery.uri.clone(),
        day: day(&tags),
        service: service(&tags).unwrap_or_else(|| NO_SERVICE.to_owned()),
        host: tags.get("host").cloned(),
        release: tags.get("release").cloned(),
        tags: as_json(&tags),
        build_ids: None,
        cpu_model: None,
        cpuid: None,
        microcode: tags.get("microcode").cloned(),
        kernel: None,
        perf_version: None,
        begin_ns: None,
        end_ns: None,
        tsc_hz: None,
        bytes: bytes(delivery.path()),
        trace_bytes: None,
        lost_records: None,
        truncated_aux: None,
        trigger: None,
        weight: 1.0,
        skipped_triggers: None,
        status: status.to_owned(),
        error: filled(error),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        options: options(delivery, "", delivery.request.input.engine),
        whole: tags.get("whole").cloned(),
    }
}

/// The bundle's own tags, and those of the delivery that it lacks.
fn tags(delivery: &Delivery, opened: Option<&Opened>) -> BTreeMap<String, String> {
    let mut tags = delivery.tags.clone();
    tags.extend(opened.into_iter().flat_map(Opened::tags).map(|(name, value)| (name.clone(), value.clone())));
    tags
}

fn service(tags: &BTreeMap<String, String>) -> Option<String> {
    tags.get("service").cloned().filter(|service| !service.is_empty())
}

/// The day where no clock is UTC: the tag's. When the file was written does not count: a copy has another time, and the rows of a capture
/// are to be the same wherever it is read.
fn day(tags: &BTreeMap<String, String>) -> String {
    tags.get("day").filter(|day| calendar::is_day(day)).map_or_else(|| NO_DAY.to_owned(), Clone::clone)
}

/// Null where there is nothing.
fn as_json(names: &BTreeMap<String, String>) -> Option<String> {
    (!names.is_empty()).then(|| json!(names).to_string())
}

fn options(delivery: &Delivery, rule: &str, engine: Option<EngineKind>) -> String {
    let engine = engine.map(EngineKind::name);
    json!({ "rule": rule, "engine": engine, "baselines": delivery.request.effort.baselines }).to_string()
}

/// For how many slow intervals each stands, how many were skipped, and by which limit they are slow: of a recording that keeps only those, and counted
/// them to its end.
#[allow(clippy::cast_precision_loss)]
fn weight(snapshots: Option<&Snapshots>) -> (f64, Option<i64>, Option<String>) {
    let Some(snapshots) = snapshots else { return (1.0, None, None) };
    let trigger = filled(snapshots.trigger());
    if !snapshots.is_complete {
        return (1.0, None, trigger);
    }
    let skipped = snapshots.skipped.count();
    let weight = if snapshots.kept == 0 { 1.0 } else { 1.0 + skipped as f64 / snapshots.kept as f64 };
    (weight, Some(int(skipped)), trigger)
}

/// The size of the file; of a folder that of all in it, a level of folders deep and more.
fn bytes(path: &Path) -> i64 {
    let (mut sum, mut left) = (0_u64, vec![path.to_owned()]);
    let mut seen = 0;
    while let Some(path) = left.pop() {
        // Of the entry itself: a link may lead anywhere.
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        seen += 1;
        if seen > MOST_FILES {
            break;
        }
        if meta.is_dir() {
            left.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else {
            sum = sum.saturating_add(meta.len());
        }
    }
    int(sum)
}

/// No bundle has more files.
const MOST_FILES: usize = 10_000;

#[cfg(test)]
mod tests {
    use report::SkippedIntervals;

    use super::*;

    #[test]
    fn skipped_triggers_make_the_kept_ones_weigh_more() {
        let skipped = SkippedIntervals { rate_limit: 4, while_writing: 2, ..SkippedIntervals::default() };
        let counted = Snapshots { is_complete: true, slow: 9, kept: 3, skipped, ..Snapshots::default() };
        assert_eq!(weight(Some(&counted)), (3.0, Some(6), None));
        assert_eq!(weight(Some(&Snapshots { kept: 0, ..counted.clone() })), (1.0, Some(6), None));
        assert_eq!(weight(Some(&Snapshots { is_complete: false, ..counted })), (1.0, None, None));
        assert_eq!(weight(None), (1.0, None, None));
    }
}
