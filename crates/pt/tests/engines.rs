//! Both engines over whole captures: the same instructions with the same times, the same events and gaps, but for
//! what `docs/engines.md` lists.

mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use model::{ThreadId, Tsc, TscRange};
use support::{Capture, FileCode, corpus, emulated};
use tailtrace_pt::{
    Block, Decoder, Engine as _, EngineKind, EventKind, Flow, FlowItem, FlowSink, GapReason, Grain, Limits,
    PtEvent, Window, decode_window,
};

const ALL: TscRange = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };

fn flows(kind: EngineKind, capture: &Capture, code: &FileCode) -> Vec<Flow> {
    let mut engine = Decoder::new(kind, capture.config.clone(), Limits::default());
    let mut flows = Vec::new();
    for (stream, _) in capture.streams() {
        let occupants = capture.occupants(&stream);
        let window = Window { stream: &stream, range: ALL, occupants: &occupants };
        flows.push(decode_window(&mut engine, &window, code).expect("memory"));
    }
    flows
}

/// Whether the items say the same, but for what `docs/engines.md` lists.
fn alike(reference: &FlowItem, native: &FlowItem) -> bool {
    match (reference, native) {
        // After a border of pieces libipt's engine does not know where tracing had stopped.
        (
            FlowItem::Event(PtEvent {
                kind: EventKind::Enabled { ip, resumed: false },
                time,
                thread,
                aux_offset,
            }),
            FlowItem::Event(other),
        ) => {
            let resumed = EventKind::Enabled { ip: *ip, resumed: true };
            let plain = EventKind::Enabled { ip: *ip, resumed: false };
            (other.kind == resumed || other.kind == plain)
                && (*time, *thread, *aux_offset) == (other.time, other.thread, other.aux_offset)
        }
        // Each engine has its own words.
        (FlowItem::Gap(gap), FlowItem::Gap(other)) => {
            let reason = match (&gap.reason, &other.reason) {
                (GapReason::Mismatch { .. }, GapReason::Mismatch { .. }) => true,
                (reason, other) => reason == other,
            };
            reason && (gap.aux_offset, gap.resumed_at) == (other.aux_offset, other.resumed_at)
        }
        (reference, native) => reference == native,
    }
}

/// Compares item by item, up to the first gap. Returns how many items that were.
fn check(folder: &Path, root: &str, kcore: Option<&Path>) -> usize {
    let capture = Capture::open(&folder.join("perf.data"));
    let code = FileCode::new(&capture, &folder.join(root), kcore);
    let reference = flows(EngineKind::Libipt, &capture, &code);
    let native = flows(EngineKind::Native, &capture, &code);
    assert_eq!(reference.len(), native.len());
    let mut compared = 0;
    for (index, (reference, native)) in reference.iter().zip(native).enumerate() {
        let (reference, native) = (&reference.items, &native.items);
        let differ = reference.iter().zip(native).position(|(one, other)| !alike(one, other));
        let gap = reference.iter().position(|item| matches!(item, FlowItem::Gap(_)));
        let near = |items: &[FlowItem], at: usize| {
            let shown = &items[at.saturating_sub(2)..items.len().min(at + 3)];
            format!("{shown:#x?}")
        };
        if let Some(at) = differ.filter(|&at| gap.is_none_or(|gap| at <= gap)) {
            let (libipt, ours) = (near(reference, at), near(native, at));
            panic!("{}, stream {index}, item {at}: libipt {libipt}\nnative {ours}", folder.display());
        }
        if gap.is_none() {
            assert_eq!(reference.len(), native.len(), "{}, stream {index}", folder.display());
        }
        compared += gap.unwrap_or(reference.len());
    }
    compared
}

/// Instructions of each thread.
#[derive(Debug, Default, PartialEq)]
struct Sums(BTreeMap<String, u64>);

impl Sums {
    fn add(&mut self, thread: Option<ThreadId>, instructions: u64) {
        if instructions > 0 {
            *self.0.entry(format!("{thread:?}")).or_default() += instructions;
        }
    }

    /// Those of the blocks that began within `range`.
    fn of_blocks(flow: &Flow, range: TscRange) -> Sums {
        let mut sums = Sums::default();
        for item in &flow.items {
            if let FlowItem::Block(block) = item
                && (range.start..=range.stop).contains(&block.time.likely)
            {
                sums.add(block.thread, u64::from(block.instructions));
            }
        }
        sums
    }
}

impl FlowSink for Sums {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        assert!(!matches!(item, FlowItem::Block(_)), "only sums were wanted");
        ControlFlow::Continue(())
    }

    fn grain(&self) -> Grain {
        Grain::Sums
    }

    fn sum(&mut self, thread: Option<ThreadId>, instructions: u64) {
        self.add(thread, instructions);
    }
}

/// Compares the sums of each engine with those of libipt's blocks: over all time, and over parts of it.
fn check_sums(folder: &Path, root: &str, kcore: Option<&Path>) {
    let capture = Capture::open(&folder.join("perf.data"));
    let code = FileCode::new(&capture, &folder.join(root), kcore);
    let mut engines = [EngineKind::Libipt, EngineKind::Native]
        .map(|kind| Decoder::new(kind, capture.config.clone(), Limits::default()));
    for (stream, _) in capture.streams() {
        let occupants = capture.occupants(&stream);
        let TscRange { start, stop } = stream.time_span().unwrap_or(ALL);
        let part = |number: u64| Tsc(start.0 + (stop.0 - start.0) / 7 * number);
        let parts = [(1, 2), (2, 6), (5, 5)].map(|(from, to)| TscRange { start: part(from), stop: part(to) });
        for range in [ALL].into_iter().chain(parts) {
            let window = Window { stream: &stream, range, occupants: &occupants };
            let flow = decode_window(&mut engines[0], &window, &code).expect("memory");
            let expected = Sums::of_blocks(&flow, range);
            for engine in &mut engines {
                let mut sums = Sums::default();
                let stats = engine.decode(&window, &code, &mut sums).expect("memory");
                assert_eq!(sums, expected, "{}, {range:?}", folder.display());
                assert!(stats.instructions >= expected.0.values().sum());
            }
        }
    }
}

#[test]
fn sums_are_those_of_the_blocks() {
    if let Some(folder) = corpus("arcus/ovf-01-ben") {
        check_sums(&folder, "root", None);
    }
    for name in ["fault", "preempt"] {
        let Some(folder) = emulated(name) else { return };
        check_sums(&folder, "symfs", Some(&folder.join("perf.data/kcore_dir/kcore")));
    }
}

#[test]
fn real_captures_are_decoded_alike() {
    let items = [
        ("hase/loopy-20180404T162955", 20),
        ("lldb/single", 10),
        ("lldb/multifile", 10),
        ("lldb/multicore", 0),
        ("xdc/unzip", 30_000),
        ("xdc/dyn_test", 10),
        ("arcus/ovf-01-poc", 15_000),
        ("arcus/ovf-01-ben", 30_000),
    ];
    for (item, least) in items {
        let Some(folder) = corpus(item) else { return };
        let compared = check(&folder, "root", None);
        assert!(compared >= least, "{item}: {compared}");
    }
}

#[test]
fn emulated_captures_are_decoded_alike() {
    for (name, least) in [("spsc_k32_small", 500_000), ("fault", 1_000_000), ("preempt", 2_000_000)] {
        let Some(folder) = emulated(name) else { return };
        let compared = check(&folder, "symfs", Some(&folder.join("perf.data/kcore_dir/kcore")));
        assert!(compared >= least, "{name}: {compared}");
    }
}

/// Where an MTC takes back what the cycles before it gave, libipt's own estimate does not change, and it gives no time for the branch after it: its
/// engine has the time of a later packet there (`docs/engines.md`). Nothing but such times differs, in one place of these blocks.
#[test]
fn times_are_the_same_or_closer() {
    let Some(folder) = emulated("syscall") else { return };
    let capture = Capture::open(&folder.join("perf.data"));
    let kcore = folder.join("perf.data/kcore_dir/kcore");
    let code = FileCode::new(&capture, &folder.join("symfs"), Some(&kcore));
    let (mut blocks, mut closer) = (0, 0);
    let all = flows(EngineKind::Libipt, &capture, &code);
    for (libipt, native) in all.iter().zip(flows(EngineKind::Native, &capture, &code)) {
        assert_eq!(libipt.items.len(), native.items.len());
        for (one, other) in libipt.items.iter().zip(&native.items) {
            let (FlowItem::Block(one), FlowItem::Block(other)) = (one, other) else {
                assert!(alike(one, other), "{one:?} and {other:?}");
                continue;
            };
            let (wide, close) = (one.time, other.time);
            assert!(wide.not_before <= close.not_before && close.not_after <= wide.not_after, "{one:?}");
            let timed = Block { time: close, aux_offset: other.aux_offset, ..*one };
            assert_eq!(timed, *other);
            blocks += 1;
            closer += usize::from(wide != close);
        }
    }
    assert!(blocks > 1_000_000, "{blocks} blocks");
    assert_eq!(closer, 10, "of {blocks}");
}
