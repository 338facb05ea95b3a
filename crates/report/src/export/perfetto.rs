//! Perfetto's native trace format: one time line of the machine, as Perfetto's users know it.
//!
//! The CPUs and the states of threads come from [`sched`]. A thread has one track over all outliers, with its time by cause, and below it
//! its functions, kernel and user nested; another track shows the intervals themselves with their stages. What overlaps in time on
//! one track, because outliers do, goes to a further row of it, so that no slice is cut. Flows lead from one thread's slice to
//! another's: with a request, and back with the answer or a wake-up.

mod sched;
mod writer;

use std::collections::{BTreeMap, HashMap};

use model::{CallLayer, Number};

use super::protobuf::Message;
use super::tracks::{by_thread, handovers, name};
use crate::calls::CallTree;
use crate::escape::for_terminal;
use crate::headline::sentence;
use crate::outlier::{OutlierReport, SegmentReport, StageReport};
use crate::report::Report;
use writer::{Writer, annotation, field, number, opening};

/// The trace of all outliers.
pub fn export_perfetto(report: &Report) -> Vec<u8> {
    let mut outliers: Vec<&OutlierReport> = report.outliers.iter().collect();
    outliers.sort_by_key(|outlier| (outlier.start_ns, outlier.id));
    let mut trace = Trace { owners: owners(&outliers), ..Trace::default() };
    trace.tree();
    for outlier in &outliers {
        trace.outlier(outlier);
    }
    trace.counters(&outliers);
    sched::add(&mut trace.writer, report);
    trace.writer.bytes
}

/// A thread as its records name it.
#[derive(Clone, Default)]
struct Owner {
    pid: i32,
    comm: String,
}

/// Whose tracks there are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Place {
    /// The intervals of a label.
    Label(String),
    /// Time below a wait that is no thread's: that of the interrupt that ended it.
    Interrupt,
    Thread(i32),
    /// The functions of the thread.
    Functions(i32),
}

/// One row of a place: its track, and until when it is taken.
struct Row {
    track: u64,
    until: u64,
}

#[derive(Default)]
struct Trace {
    writer: Writer,
    owners: BTreeMap<i32, Owner>,
    processes: HashMap<i32, u64>,
    rows: HashMap<Place, Vec<Row>>,
    flows: u64,
}

/// The flows that leave or enter a segment, by its address: the field that says which, and the flow.
type Flows = HashMap<*const SegmentReport, Vec<(u32, u64)>>;

impl Trace {
    fn outlier(&mut self, outlier: &OutlierReport) {
        let start = outlier.start_ns.unwrap_or(0);
        self.interval(outlier, (start, outlier.duration_ns));
        let flows = self.flows(outlier);
        let mut own = Vec::new();
        for ((level, tid), segments) in by_thread(outlier) {
            if level == 0 {
                own.push(tid);
            }
            let place = tid.map_or(Place::Interrupt, Place::Thread);
            let (Some(first), Some(last)) = (segments.first(), segments.last()) else { continue };
            let until = last.offset_ns.saturating_add(last.duration_ns);
            let track = self.row(
                &place,
                (start.saturating_add(first.offset_ns), start.saturating_add(until)),
                outlier,
            );
            self.segments(track, start, &segments, &flows);
        }
        if let (Some(first), Some(last)) = (outlier.calls.stretches.first(), outlier.calls.stretches.last()) {
            // Functions are of the threads of the interval: of the first of them where it passes from one to another.
            let tid = own.first().copied().flatten().unwrap_or(-1);
            let until = last.offset_ns.saturating_add(last.duration_ns);
            let span = (start.saturating_add(first.offset_ns), start.saturating_add(until));
            let track = self.row(&Place::Functions(tid), span, outlier);
            self.stacks(track, start, &outlier.calls);
        }
    }

    /// All threads with their processes, also those that have no track.
    fn tree(&mut self) {
        if self.owners.is_empty() {
            return;
        }
        let mut tree = Message::default();
        for (&tid, owner) in self.owners.iter().filter(|(_, owner)| owner.pid >= 0) {
            let thread = Message::default()
                .uint(field::TREE_TID, whole(tid))
                .text(field::TREE_NAME, &for_terminal(&owner.comm))
                .uint(field::TREE_TGID, whole(owner.pid));
            tree = tree.message(field::TREE_THREADS, &thread);
        }
        self.writer.packet(Message::default().message(field::PACKET_TREE, &tree));
    }

    /// The interval as a slice with its stages in it.
    fn interval(&mut self, outlier: &OutlierReport, (start, duration): (u64, u64)) {
        let stop = start.saturating_add(duration);
        let track = self.row(&Place::Label(outlier.label.clone()), (start, stop), outlier);
        let about =
            [annotation("verdict", &sentence(outlier)), annotation("stock perf", &outlier.perf_script)];
        self.writer.event(start, &opening(track, &name(outlier), "interval", &about));
        for StageReport { name, offset_ns, duration_ns } in &outlier.stages {
            let begin = opening(track, name, "stage", &[]);
            self.writer.span(track, &begin, (start.saturating_add(*offset_ns), *duration_ns));
        }
        self.writer.end(track, stop, 1);
    }

    /// The first row of a place that is free from a time on, until another; a new one where none is.
    fn row(&mut self, place: &Place, (from, until): (u64, u64), outlier: &OutlierReport) -> u64 {
        let rows = self.rows.entry(place.clone()).or_default();
        if let Some(row) = rows.iter_mut().find(|row| row.until <= from) {
            row.until = until;
            return row.track;
        }
        let above = rows.first().map(|row| row.track);
        let track = match (above, place) {
            (_, Place::Functions(tid)) => {
                let thread = self.rows.get(&Place::Thread(*tid)).and_then(|rows| rows.first());
                let thread = thread.map(|row| row.track);
                self.writer.track(thread, "functions", |track| track)
            }
            (Some(above), _) => self.writer.track(Some(above), "at the same time", |track| track),
            (None, Place::Label(label)) => {
                self.writer.track(None, &format!("slow intervals {label}"), |track| track)
            }
            (None, Place::Interrupt) => self.writer.track(None, "interrupts that ended waits", |track| track),
            (None, Place::Thread(tid)) => self.thread(*tid, outlier),
        };
        self.rows.entry(place.clone()).or_default().push(Row { track, until });
        track
    }

    /// The track of a thread; with its process where a record names that.
    fn thread(&mut self, tid: i32, outlier: &OutlierReport) -> u64 {
        let Some(Owner { pid, comm }) = self.owners.get(&tid).cloned().filter(|owner| owner.pid >= 0) else {
            return self.writer.track(None, &outlier.thread_words(Some(tid)), |track| track);
        };
        let process = match self.processes.get(&pid) {
            Some(&process) => process,
            None => self.process(pid),
        };
        let thread = Message::default()
            .uint(field::OWNER_PID, whole(pid))
            .uint(field::THREAD_TID, whole(tid))
            .text(field::THREAD_NAME, &for_terminal(&comm));
        self.writer.track(Some(process), "", |track| track.message(field::TRACK_THREAD, &thread))
    }

    /// The track of a process, which has the name of its main thread where that is known.
    fn process(&mut self, pid: i32) -> u64 {
        let mut process = Message::default().uint(field::OWNER_PID, whole(pid));
        if let Some(main) = self.owners.get(&pid).filter(|main| !main.comm.is_empty()) {
            process = process.text(field::PROCESS_NAME, &for_terminal(&main.comm));
        }
        let track = self.writer.track(None, "", |track| track.message(field::TRACK_PROCESS, &process));
        self.processes.insert(pid, track);
        track
    }

    fn flows(&mut self, outlier: &OutlierReport) -> Flows {
        let mut flows = Flows::new();
        for (from, to) in handovers(outlier) {
            self.flows += 1;
            flows.entry(std::ptr::from_ref(from)).or_default().push((field::EVENT_FLOW, self.flows));
            flows.entry(std::ptr::from_ref(to)).or_default().push((field::EVENT_FLOW_END, self.flows));
        }
        flows
    }

    fn segments(&mut self, track: u64, start: u64, segments: &[&SegmentReport], flows: &Flows) {
        for &segment in segments {
            let mut about = vec![annotation("certainty", &segment.certainty.to_string())];
            if !segment.detail.is_empty() {
                about.push(annotation("particulars", &segment.detail));
            }
            about.extend(segment.story.part.map(|part| annotation("part", part.name())));
            about.extend(segment.cpu.map(|cpu| number("cpu", u64::from(cpu))));
            about.extend(segment.evidence.iter().take(4).map(|found| annotation("evidence", &found.words())));
            let span = (start.saturating_add(segment.offset_ns), segment.duration_ns);
            let begin = opening(track, &segment.cause, "cause", &about);
            let leading = flows.get(&std::ptr::from_ref(segment)).into_iter().flatten();
            let begin = leading.fold(begin, |event, &(field, flow)| event.fixed(field, flow));
            self.writer.span(track, &begin, span);
        }
    }

    /// Nested slices: from one stretch to the next only what changes ends and begins.
    fn stacks(&mut self, track: u64, start: u64, calls: &CallTree) {
        let (mut open, mut until) = (Vec::new(), start);
        for stretch in &calls.stretches {
            let at = start.saturating_add(stretch.offset_ns);
            let chain = calls.chain(stretch.node);
            let same =
                if at == until { open.iter().zip(&chain).take_while(|(a, b)| a == b).count() } else { 0 };
            self.writer.end(track, until, open.len() - same);
            for &node in &chain[same..] {
                let node = &calls.nodes[node];
                self.writer.event(at, &opening(track, &node.name, layer(node.layer), &[]));
            }
            (open, until) = (chain, at.saturating_add(stretch.duration_ns));
        }
        self.writer.end(track, until, open.len());
    }

    /// One track for each of the program's counters, with the values of all outliers at their begins and ends.
    fn counters(&mut self, outliers: &[&OutlierReport]) {
        let mut values: BTreeMap<&str, Vec<(u64, Number)>> = BTreeMap::new();
        for outlier in outliers {
            let start = outlier.start_ns.unwrap_or(0);
            for counter in &outlier.counters {
                let at = [start, start.saturating_add(outlier.duration_ns)];
                values.entry(&counter.name).or_default().extend(at.map(|at| (at, counter.value)));
            }
        }
        for (name, mut values) in values {
            values.sort_by_key(|&(at, _)| at);
            let track = self
                .writer
                .track(None, name, |track| track.message(field::TRACK_COUNTER, &Message::default()));
            for (at, value) in values {
                self.writer.count(track, at, value);
            }
        }
    }
}

/// The threads of all outliers with their processes, as far as these are known.
fn owners(outliers: &[&OutlierReport]) -> BTreeMap<i32, Owner> {
    let mut owners: BTreeMap<i32, Owner> = BTreeMap::new();
    for outlier in outliers {
        for run in outlier.machine.cpus.iter().flat_map(|cpu| &cpu.runs).filter(|run| run.tid != 0) {
            owners.entry(run.tid).or_insert_with(|| Owner { pid: run.pid, comm: run.comm.clone() });
        }
        for thread in [&outlier.start_thread, &outlier.stop_thread].into_iter().flatten() {
            owners.insert(thread.tid, Owner { pid: thread.pid, comm: thread.comm.clone() });
        }
    }
    owners
}

fn layer(layer: CallLayer) -> &'static str {
    match layer {
        CallLayer::User => "user",
        CallLayer::Kernel => "kernel",
        CallLayer::Waiting => "waiting",
    }
}

/// A pid of the kernel's, which is not negative.
fn whole(number: i32) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
