//! A made-up capture for tests of pages and keys: one preempted order among forty, with names that are not trusted.

use std::sync::Arc;

use clap::Parser;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use model::{CallLayer, Certainty, Cpu, Pid, ThreadId, Tid, Tsc};
use pt::{Block, BlockEnd, TimeBounds};
use report::{
    Bin, CallReport, CallTree, CauseTotal, Check, CheckState, Composition, Constituents, EvidenceReport,
    HotBlock, HotInstruction, HotRange, OutlierReasons, OutlierReport, Percentiles, Report, SegmentReport,
    Spent, StretchReport, ThreadName,
};

use super::served::served;
use crate::args::{Cli, Command};
use crate::tui::app::state::State;
use crate::tui::app::worker::Answer;
use crate::tui::app::{Effect, Message};
use crate::tui::pages::ask::Ask;
use crate::tui::pages::explained::Explained;
use crate::tui::pages::flow::{BlockUse, Flow, FlowRow, Mark, Run};
use crate::tui::pages::lanes::{Presence, lanes};
use crate::tui::pages::listing::{BlockListing, CodeLine, PacketLine, SourceLine};
use crate::tui::pages::overview::{Overview, Row};

/// A name that would clear the screen, turn text around and end a line.
pub(in crate::tui) const HOSTILE: &str = "evil\u{1b}[2J\u{202e}name\r\n";

/// The index of the interval that is explained.
pub(in crate::tui) const SLOW: usize = 23;

/// The index of an interval that waits for the answer of a server.
pub(in crate::tui) const SERVED: usize = 7;

/// Options as typed after `tailtrace tui -i perf.data --intervals i.csv`.
pub(in crate::tui) fn args(more: &[&str]) -> crate::args::AnalysisArgs {
    let line = ["tailtrace", "tui", "-i", "perf.data", "--intervals", "i.csv"].iter().chain(more);
    match Cli::try_parse_from(line).expect("the options are right").command {
        Command::Tui(args) => args,
        other => panic!("not tui: {other:?}"),
    }
}

/// The state before the capture is open, at this size.
pub(in crate::tui) fn opening(size: (u16, u16)) -> State {
    State::new(args(&["--symfs", "sym fs"]), size, Arc::default())
}

/// The state with the capture open.
pub(in crate::tui) fn opened(size: (u16, u16)) -> State {
    let mut state = opening(size);
    state.update(Message::Answer(Answer::Opened(Box::new(overview()))));
    state
}

/// The state after these keys, the worker having answered each request.
pub(in crate::tui) fn after(size: (u16, u16), keys: &str) -> State {
    let mut state = opened(size);
    for key in keys.chars() {
        for effect in press(&mut state, key) {
            if let Effect::Ask(request) = effect {
                state.update(Message::Answer(answer(request.ask)));
            }
        }
    }
    state
}

/// A key: a character, `\n` for Enter, `\t` for Tab, `\u{1b}` for Esc, arrows for arrows.
pub(in crate::tui) fn press(state: &mut State, key: char) -> Vec<Effect> {
    let code = match key {
        '\n' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        '\u{1b}' => KeyCode::Esc,
        '↑' => KeyCode::Up,
        '↓' => KeyCode::Down,
        '←' => KeyCode::Left,
        '→' => KeyCode::Right,
        '⇟' => KeyCode::PageDown,
        character => KeyCode::Char(character),
    };
    state.update(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

/// What the worker answers.
pub(in crate::tui) fn answer(ask: Ask) -> Answer {
    match ask {
        Ask::Explain { index: SERVED } => Answer::Explained(SERVED, Box::new(served())),
        Ask::Explain { index } => Answer::Explained(index, Box::new(explained())),
        Ask::Reasons { from } => {
            let reasons = explained().reasons;
            let few = overview().with_reasons.into_iter().skip(from).take(2);
            Answer::Reasons(few.map(|index| (index, reasons.clone())).collect())
        }
        Ask::MadeOf => Answer::MadeOf(Box::new(composition())),
        Ask::Code { index } => Answer::Code(index, ranges()),
        Ask::Flow { index, range } => Answer::Flow(index, Box::new(flow(range))),
        Ask::Block { .. } => Answer::Block(Box::new(listing())),
    }
}

/// The forty intervals of [`overview`] by cause; what exceeds 25 us the slow one was preempted, the others waited for a lock.
fn composition() -> Composition {
    let one = |row: &Row| {
        let excess = row.duration - 25_000;
        let cause = if row.index == SLOW { "offcpu.preempted" } else { "offcpu.lock" };
        let causes =
            [("user.expected", 25_000), (cause, excess)].map(|(cause, time)| (cause.to_owned(), time));
        let also = (excess > 1_000).then(|| HOSTILE.into());
        let functions = ["take".into(), "give".into()].into_iter().chain(also);
        Constituents::of_causes(causes).starting(row.start - 558_000_000).entering(functions)
    };
    Composition::of(overview().rows.iter().map(one).collect(), 40)
}

/// Forty intervals of 25 us but for the slow one and one whose label is hostile; three are chosen.
pub(in crate::tui) fn overview() -> Overview {
    let row = |index: usize| {
        let duration = match index {
            SLOW => 1_168_701,
            7 => 88_000,
            8 => 61_500,
            _ => 25_000 + index as u64 * 10,
        };
        let is_chosen = duration > 60_000;
        let label = if index == 8 { HOSTILE } else { "order" };
        let start = 558_000_000 + index as u64 * 1_000_000;
        let (id, key, thread) = (index as u64, "".into(), "worker 124".into());
        Row { index, id, label: label.into(), key, duration, start, thread, is_outlier: is_chosen, is_chosen }
    };
    let mut report = Report::default();
    report.capture.path = Some("perf.data".to_owned());
    report.population.count = 40;
    report.population.rule = "longer than 30.6 us".to_owned();
    report.population.outliers = 3;
    report.population.min_ns = 25_000;
    report.population.max_ns = 1_168_701;
    report.population.mean_ns = 56_000.0;
    report.population.percentiles =
        Percentiles { p50: 25_200, p90: 25_380, p99: 1_168_701, p99_9: 1_168_701, p99_99: 1_168_701 };
    report.population.histogram = vec![
        Bin { from_ns: 20_000, to_ns: 40_000, count: 37 },
        Bin { from_ns: 40_000, to_ns: 80_000, count: 1 },
        Bin { from_ns: 80_000, to_ns: 160_000, count: 2 },
    ];
    report.selection.selected = 3;
    Overview { report, rows: (0..40).map(row).collect(), with_reasons: vec![SLOW, 7, 8], found: 3 }
}

pub(in crate::tui) fn segment(offset_ns: u64, duration_ns: u64, cause: &str, detail: &str) -> SegmentReport {
    let evidence = EvidenceReport {
        kind: model::EvidenceKind::Record,
        file_offset: Some(0x14bf8),
        cpu: Some(1),
        aux_offset: None,
        text: "switched out".to_owned(),
    };
    SegmentReport {
        ticks: 0,
        offset_ns,
        duration_ns,
        cpu: (!cause.starts_with("offcpu")).then_some(1),
        tid: Some(124),
        cause: cause.to_owned(),
        certainty: Certainty::Measured,
        detail: detail.to_owned(),
        story: model::Story::default(),
        edge_uncertainty_ns: 0,
        during: Vec::new(),
        serving: Vec::new(),
        evidence: vec![evidence],
    }
}

pub(super) fn cause(cause: &str, duration_ns: u64, typical_ns: u64, detail: &str) -> CauseTotal {
    let excess_ns = duration_ns.cast_signed() - typical_ns.cast_signed();
    let (count, certainty) = (u64::from(duration_ns > 0), Certainty::Measured);
    CauseTotal {
        cause: cause.to_owned(),
        duration_ns,
        typical_ns,
        excess_ns,
        count,
        certainty,
        detail: detail.to_owned(),
    }
}

/// Preempted for a millisecond by a thread with a hostile name.
pub(in crate::tui) fn explained() -> Explained {
    let by = format!("by {HOSTILE} (tid 122)");
    let mut wait = segment(53_500, 1_095_800, "offcpu.preempted", &by);
    (wait.story.by, wait.story.role) = (HOSTILE.to_owned(), model::Role::Runner);
    let of_other = |segment| SegmentReport { tid: Some(122), cpu: Some(0), ..segment };
    wait.during = vec![
        of_other(segment(53_500, 1_000_000, "user.expected", "sort")),
        of_other(segment(1_053_500, 95_800, "kernel.syscall.futex", "")),
    ];
    let segments = vec![
        segment(0, 16_200, "user.expected", "worker"),
        segment(16_200, 18_300, "kernel.ipi.reschedule", ""),
        segment(34_500, 19_000, "kernel.schedule", ""),
        wait,
        segment(1_149_300, 19_401, "user.expected", "process_item"),
    ];
    let checks = vec![
        Check { name: "PT".to_owned(), state: CheckState::Good, detail: "trace of CPU 1".to_owned() },
        Check { name: "loss".to_owned(), state: CheckState::Partial, detail: "0.1 % of the time".to_owned() },
    ];
    let outlier = OutlierReport {
        id: SLOW as u64,
        label: "order".to_owned(),
        start_tsc: 1_535_009_370,
        stop_tsc: 1_538_047_989,
        start_ns: Some(558_227_805),
        duration_ns: 1_168_701,
        start_thread: Some(ThreadName { pid: 120, tid: 124, comm: "worker".to_owned() }),
        stop_thread: Some(ThreadName { pid: 120, tid: 124, comm: "worker".to_owned() }),
        baselines: vec![10],
        baseline_mean_ns: Some(25_100),
        checks,
        causes: vec![
            cause("offcpu.preempted", 1_095_800, 0, &by),
            cause("kernel.schedule", 19_000, 0, ""),
            cause("kernel.ipi.reschedule", 18_300, 0, ""),
            cause("user.expected", 35_601, 25_100, "process_item"),
        ],
        segments,
        calls: calls(),
        perf_script: "perf script -i perf.data --time 0.558227805,0.559396507 -C 1 --itrace=be --ns"
            .to_owned(),
        ..OutlierReport::default()
    };
    let baseline = OutlierReport {
        id: 10,
        label: "order".to_owned(),
        duration_ns: 25_100,
        causes: vec![cause("user.expected", 25_100, 0, "process_item")],
        segments: vec![segment(0, 25_100, "user.expected", "process_item")],
        calls: usual_calls(),
        ..OutlierReport::default()
    };
    let lanes = lanes(&outlier, cpus(), &|tid| if tid == 124 { "worker 124".into() } else { HOSTILE.into() });
    let reasons = OutlierReasons::of(&outlier);
    Explained { outlier, reasons, baselines: vec![baseline], remarks: Vec::new(), lanes }
}

/// CPU 1 was the other thread's and then idle, except before 10 us, where there are no records.
fn cpus() -> Vec<(u32, Vec<Presence>)> {
    let presence = |offset, duration, name: &str| Presence { offset, duration, name: name.to_owned() };
    vec![(1, vec![presence(53_500, 800_000, HOSTILE), presence(853_500, 200_000, "idle")])]
}

pub(super) fn calls() -> CallTree {
    let node = |parent, name: &str, layer, self_ns, typical_self_ns| CallReport {
        parent,
        name: name.to_owned(),
        layer,
        self_ns,
        typical_self_ns,
        calls: 1,
        recording: String::new(),
    };
    let nodes = vec![
        node(None, "worker", CallLayer::User, 100, 90),
        node(Some(0), "process_item", CallLayer::User, 35_501, 25_010),
        node(Some(1), "offcpu.preempted", CallLayer::Waiting, 1_095_800, 0),
        node(Some(1), "kernel.schedule", CallLayer::Kernel, 19_000, 0),
        node(Some(1), HOSTILE, CallLayer::Kernel, 18_300, 0),
    ];
    let stretches = [(0, 0, 100), (1, 100, 16_100), (4, 16_200, 18_300), (3, 34_500, 19_000)];
    let later = [(2, 53_500, 1_095_800), (1, 1_149_300, 19_401)];
    let stretch = |(node, offset_ns, duration_ns)| StretchReport { offset_ns, duration_ns, node };
    CallTree { nodes, stretches: stretches.into_iter().chain(later).map(stretch).collect() }
}

/// A typical interval: the worker, what it always does, and once a log that the slow one did not write.
fn usual_calls() -> CallTree {
    let node = |parent, name: &str, self_ns| CallReport {
        parent,
        name: name.to_owned(),
        layer: CallLayer::User,
        self_ns,
        typical_self_ns: 0,
        calls: 1,
        recording: String::new(),
    };
    let nodes =
        vec![node(None, "worker", 90), node(Some(0), "process_item", 24_000), node(Some(0), "log", 1_010)];
    let stretch = |(node, offset_ns, duration_ns)| StretchReport { offset_ns, duration_ns, node };
    let stretches = [(0, 0, 90), (1, 90, 24_000), (2, 24_090, 1_010)].map(stretch).to_vec();
    CallTree { nodes, stretches }
}

fn used(ip: u64, executions: u64, duration: u64) -> BlockUse {
    let block = Block {
        ip,
        end_ip: ip + 9,
        instructions: 3,
        end: BlockEnd::ConditionalBranch,
        bits: 64,
        kernel: false,
        thread: Some(ThreadId { pid: Pid(120), tid: Tid(124) }),
        time: TimeBounds::between(Tsc(1_535_009_400), Tsc(1_535_009_500)),
        aux_offset: 0x4499,
    };
    BlockUse { block, cpu: Some(Cpu(1)), executions, offset: 6, duration, aux_before: 0x4489 }
}

fn flow(asked: (u64, u64)) -> Flow {
    let run = |offset, duration, function: &str, is_kernel, blocks: Vec<BlockUse>| {
        let executions = blocks.iter().map(|used| used.executions).sum();
        let function: Arc<str> = function.into();
        let instructions = 3 * executions;
        FlowRow::Run(Run {
            offset,
            duration,
            cpu: Some(1),
            function,
            is_kernel,
            depth: 0,
            executions,
            instructions,
            blocks,
        })
    };
    let mark = |offset, text: &str| FlowRow::Mark(Mark { offset, depth: 0, text: text.to_owned() });
    let rows = vec![
        run(0, 6, "worker", false, vec![used(0x40_1000, 1, 6)]),
        run(6, 16_194, "process_item", false, vec![used(0x40_1136, 366, 16_000), used(0x40_1150, 1, 194)]),
        mark(16_200, "interrupted at process_item+0x1a, on to asm_sysvec_reschedule_ipi"),
        run(16_200, 18_300, HOSTILE, true, vec![used(0xffff_ffff_81c0_0ef0, 1, 18_300)]),
        mark(53_500, &format!("1.10 ms offcpu.preempted, by {HOSTILE} (tid 122)")),
    ];
    Flow { rows, asked, is_cut: false }
}

fn listing() -> BlockListing {
    let code = |address: u64, text: &str, line: Option<&str>| CodeLine {
        address,
        bytes: vec![0x48, 0x89],
        text: text.to_owned(),
        is_executed: (0x40_1136..=0x40_113f).contains(&address),
        line: line.map(str::to_owned),
    };
    let source = |number, text: &str| SourceLine { number, text: text.to_owned(), is_executed: number == 88 };
    let packet = |offset, text: &str| PacketLine {
        offset,
        text: text.to_owned(),
        is_own: (0x4489..0x4499).contains(&offset),
    };
    BlockListing {
        function: format!("process_item+0x6 in /srv/{HOSTILE}"),
        code: vec![
            code(0x40_1130, "pushq %rbp", Some("queue.c:86")),
            code(0x40_1136, "movq %rdi, %rax", Some("queue.c:88")),
            code(0x40_1139, "testq %rax, %rax", None),
            code(0x40_113f, "jne 0x401136 <process_item+0x6>", None),
            code(0x40_1141, "retq", Some("queue.c:90")),
        ],
        frames: vec!["process_item (/src/queue.c:88)".to_owned()],
        source: Ok(vec![
            source(87, "{"),
            source(88, "    while (!take(queue))"),
            source(89, &format!("        /* {HOSTILE} */;")),
        ]),
        packets: vec![
            packet(0x4480, "PSB"),
            packet(0x4489, "CYC 0x360"),
            packet(0x4495, "TNT T (1)"),
            packet(0x4499, "TIP 0x401136"),
        ],
    }
}

fn ranges() -> Vec<HotRange> {
    let spent = |duration_ns, typical_ns, executions| Spent {
        duration_ns,
        typical_ns,
        cycles: Some(duration_ns * 2),
        typical_cycles: None,
        executions,
        typical_executions: executions,
    };
    let line = |number, text: &str| {
        Some(report::SourceLine { file: "/src/queue.c".to_owned(), number, text: Some(text.to_owned()) })
    };
    let instruction = |address, text: &str, line| HotInstruction { address, text: text.to_owned(), line };
    let slow = vec![
        instruction(0x40_1136, "movq %rdi, %rax", line(88, "    while (!take(queue))")),
        instruction(0x40_1139, "testq %rax, %rax", line(88, "    while (!take(queue))")),
    ];
    let cold = vec![instruction(0x40_1150, "retq", line(90, HOSTILE))];
    vec![HotRange {
        function: "process_item".to_owned(),
        dso: format!("/srv/{HOSTILE}"),
        spent: spent(16_194, 9_200, 366),
        blocks: vec![
            HotBlock { spent: spent(16_000, 9_000, 366), instructions: slow },
            HotBlock { spent: spent(194, 200, 1), instructions: cold },
        ],
        left_out: 7,
    }]
}
