//! The Firefox Profiler's "processed" format: an outlier is a process, its threads have stacks and cause markers.
//!
//! A sample stands at the start of each stretch and weighs its nanoseconds, so totals in the call tree are exact.

use std::time::Duration;

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerFieldFlags,
    MarkerFieldFormat, MarkerTiming, ProcessHandle, Profile, ReferenceTimestamp, SamplingInterval,
    StaticSchemaMarker, StaticSchemaMarkerField, StringHandle, ThreadHandle, Timestamp,
};
use model::CallLayer;

use super::tracks::{by_thread, layer_of, name};
use crate::escape::for_terminal;
use crate::outlier::{OutlierReport, SegmentReport};
use crate::report::Report;

/// The profile as JSON.
pub fn export_firefox(report: &Report) -> String {
    let reference = ReferenceTimestamp::from_duration_since_unix_epoch(Duration::ZERO);
    let mut profile = Profile::new("tailtrace", reference, SamplingInterval::from_nanos(1000));
    profile.set_symbolicated(true);
    let layers = Layers {
        user: profile.add_category("User", CategoryColor::Blue),
        kernel: profile.add_category("Kernel", CategoryColor::Orange),
        waiting: profile.add_category("Waiting", CategoryColor::Purple),
    };
    for (index, outlier) in report.outliers.iter().enumerate() {
        add(&mut profile, outlier, index, &layers);
    }
    // Writing to memory fails only for maps whose keys are no strings; there are none.
    serde_json::to_string(&profile).unwrap_or_default()
}

struct Layers {
    user: CategoryHandle,
    kernel: CategoryHandle,
    waiting: CategoryHandle,
}

impl Layers {
    fn of(&self, layer: CallLayer) -> CategoryHandle {
        match layer {
            CallLayer::User => self.user,
            CallLayer::Kernel => self.kernel,
            CallLayer::Waiting => self.waiting,
        }
    }
}

fn add(profile: &mut Profile, outlier: &OutlierReport, index: usize, layers: &Layers) {
    let start = outlier.start_ns.unwrap_or(0);
    let pid = u32::try_from(index + 1).unwrap_or(u32::MAX);
    let process = profile.add_process(&for_terminal(&name(outlier)), pid, at(start));
    profile.set_process_end_time(process, at(start.saturating_add(outlier.duration_ns)));
    let mut samples = !outlier.calls.stretches.is_empty();
    for ((level, tid), segments) in by_thread(outlier) {
        let thread = add_thread(profile, process, outlier, tid, level == 0);
        if std::mem::take(&mut samples) {
            add_stacks(profile, thread, outlier, layers);
        } else {
            add_causes(profile, thread, start, &segments, layers);
        }
        for segment in segments {
            add_marker(profile, thread, start, segment, layers);
        }
    }
}

fn add_thread(
    profile: &mut Profile,
    process: ProcessHandle,
    outlier: &OutlierReport,
    tid: Option<i32>,
    is_main: bool,
) -> ThreadHandle {
    let start = outlier.start_ns.unwrap_or(0);
    let number = tid.and_then(|tid| u32::try_from(tid).ok()).unwrap_or(0);
    let thread = profile.add_thread(process, number, at(start), is_main);
    profile.set_thread_name(thread, &for_terminal(&outlier.thread_words(tid)));
    profile.set_thread_end_time(thread, at(start.saturating_add(outlier.duration_ns)));
    thread
}

/// One sample per stretch of the call tree.
fn add_stacks(profile: &mut Profile, thread: ThreadHandle, outlier: &OutlierReport, layers: &Layers) {
    let start = outlier.start_ns.unwrap_or(0);
    for stretch in &outlier.calls.stretches {
        let chain = outlier.calls.chain(stretch.node);
        let frames: Vec<FrameInfo> = chain
            .iter()
            .filter_map(|&at| outlier.calls.nodes.get(at))
            .map(|node| frame(profile, &node.name, layers.of(node.layer)))
            .collect();
        let stack = profile.intern_stack_frames(thread, frames.into_iter());
        let time = at(start.saturating_add(stretch.offset_ns));
        profile.add_sample(
            thread,
            time,
            stack,
            CpuDelta::from_nanos(stretch.duration_ns),
            weight(stretch.duration_ns),
        );
    }
}

/// One sample per segment, for threads whose stacks are not known.
fn add_causes(
    profile: &mut Profile,
    thread: ThreadHandle,
    start: u64,
    segments: &[&SegmentReport],
    layers: &Layers,
) {
    for segment in segments {
        let frame = frame(profile, &segment.cause, layers.of(layer_of(&segment.cause)));
        let stack = profile.intern_stack_frames(thread, std::iter::once(frame));
        let time = at(start.saturating_add(segment.offset_ns));
        profile.add_sample(
            thread,
            time,
            stack,
            CpuDelta::from_nanos(segment.duration_ns),
            weight(segment.duration_ns),
        );
    }
}

fn frame(profile: &mut Profile, name: &str, category: CategoryHandle) -> FrameInfo {
    let label = profile.intern_string(&for_terminal(name));
    FrameInfo { frame: Frame::Label(label), category_pair: category.into(), flags: FrameFlags::empty() }
}

fn add_marker(
    profile: &mut Profile,
    thread: ThreadHandle,
    start: u64,
    segment: &SegmentReport,
    layers: &Layers,
) {
    let evidence =
        segment.evidence.iter().take(4).map(crate::outlier::EvidenceReport::words).collect::<Vec<_>>();
    let marker = CauseMarker {
        name: profile.intern_string(&for_terminal(&segment.cause)),
        category: layers.of(layer_of(&segment.cause)),
        fields: [
            profile.intern_string(&segment.certainty.to_string()),
            profile.intern_string(&for_terminal(&segment.detail)),
            profile.intern_string(&for_terminal(&evidence.join("; "))),
            profile.intern_string(&segment.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string())),
        ],
    };
    let from = start.saturating_add(segment.offset_ns);
    let timing = MarkerTiming::Interval(at(from), at(from.saturating_add(segment.duration_ns)));
    profile.add_marker(thread, timing, marker);
}

/// A segment in the marker chart.
struct CauseMarker {
    name: StringHandle,
    category: CategoryHandle,
    fields: [StringHandle; 4],
}

const fn field(key: &'static str, label: &'static str) -> StaticSchemaMarkerField {
    let (format, flags) = (MarkerFieldFormat::String, MarkerFieldFlags::SEARCHABLE);
    StaticSchemaMarkerField { key, label, format, flags }
}

impl StaticSchemaMarker for CauseMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "tailtrace-cause";
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name} - {marker.data.particulars}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[
        field("certainty", "Known"),
        field("particulars", "Particulars"),
        field("evidence", "Evidence"),
        field("cpu", "CPU"),
    ];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, index: u32) -> StringHandle {
        self.fields.get(index as usize).copied().unwrap_or(self.name)
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}

fn at(nanoseconds: u64) -> Timestamp {
    Timestamp::from_nanos_since_reference(nanoseconds)
}

fn weight(nanoseconds: u64) -> i32 {
    i32::try_from(nanoseconds).unwrap_or(i32::MAX)
}
