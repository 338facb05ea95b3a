//! Any packets over a small code image with calls, loops, far transfers and endless jumps: with either engine decoding
//! ends, within its bounds, and items come in order; and up to the first gap both say the same. The native engine says the
//! same block by block and in sums.
#![no_main]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use model::{CodeBytes, CodeEpoch, CodeSection, FileOffset, Pid, ThreadId, Tsc, TscRange};
use pt::{
    CpuModel, Decoder, Engine as _, EngineKind, EventKind, FlowItem, FlowSink, Gap, Grain, Limits, Occupant,
    Packet, Piece, PtConfig, PtStream, WatchedCalls, Window, instructions,
};

/// Mapped at 0x1000 and, as the kernel, at its last addresses but 4096.
const CODE: &[u8] = &[
    0x31, 0xc0, 0xff, 0xc0, 0x83, 0xf8, 0x0a, 0x75, 0xf9, // a loop
    0xe8, 0x05, 0x00, 0x00, 0x00, 0xeb, 0xf0, // call, jump back
    0x90, 0x90, 0x90, 0xc3, // return
    0xff, 0xe0, 0xff, 0xd0, 0xff, 0x24, 0x25, 0, 0, 0, 0, // indirect jumps and calls
    0x0f, 0x05, 0xcd, 0x80, 0x0f, 0x34, 0x48, 0xcf, 0x48, 0x0f, 0x07, // into the kernel and back
    0xf3, 0x48, 0x0f, 0xae, 0xe0, 0x0f, 0x22, 0xd8, // ptwrite, mov cr3
    0x74, 0x02, 0xeb, 0xfe, // a jump to itself
    0x74, 0x05, 0xe8, 0xfb, 0xff, 0xff, 0xff, // a call of itself
    0x0f, 0x01, 0xc1, 0x0f, 0x01, 0xc2, 0xc7, 0xf8, 0x02, 0, 0, 0, // vmcall, vmlaunch, xbegin
    0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1, 0xc5, 0xf8, 0x28, 0xc1, 0xff, 0xff, 0xc3,
];
const KERNEL: u64 = 0xffff_ffff_ffff_e000;

struct Image {
    file: Arc<PathBuf>,
}

impl CodeBytes for Image {
    fn epoch(&self, pid: Pid, at: Tsc) -> CodeEpoch {
        let section =
            |start| CodeSection { range: start..start + 64, file: self.file.clone(), file_offset: 0 };
        // Process 1 has files behind its code, others only what `read` tells.
        let sections: Vec<CodeSection> =
            if pid == Pid(1) { [0x1000, KERNEL].map(section).into() } else { Vec::new() };
        CodeEpoch {
            id: u64::from(pid == Pid(1)),
            until: Tsc((at.0 | 0xffff).saturating_add(1)),
            sections: sections.into(),
        }
    }

    fn read(&self, _: Pid, address: u64, _: Tsc, into: &mut [u8]) -> usize {
        let offset = if address >= KERNEL { address - KERNEL } else { address.wrapping_sub(0x1000) };
        let code = usize::try_from(offset).ok().and_then(|offset| CODE.get(offset..)).unwrap_or_default();
        let count = code.len().min(into.len());
        into[..count].copy_from_slice(&code[..count]);
        count
    }
}

/// What ran and happened, up to the first gap.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Instruction(u64),
    Event(EventKind),
}

struct Check<'i> {
    image: &'i Image,
    items: usize,
    aux: u64,
    said: Vec<Said>,
    has_gap: bool,
}

impl Check<'_> {
    fn event(&mut self, kind: EventKind) {
        match kind {
            // Whether it resumes is known to the native engine over the border of two pieces, too.
            EventKind::Enabled { ip, .. } => {
                self.said.push(Said::Event(EventKind::Enabled { ip, resumed: false }));
            }
            // libipt takes the wrong bit; it is corrected where nothing but a packet follows.
            EventKind::PowerEntry { state, sub_state, .. } => {
                self.said.push(Said::Event(EventKind::PowerEntry { state, sub_state, by_hardware: false }));
            }
            kind => self.said.push(Said::Event(kind)),
        }
    }
}

impl FlowSink for Check<'_> {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        self.items += 1;
        let time = match item {
            FlowItem::Block(block) => {
                assert!(block.instructions > 0);
                let (said, has_gap) = (&mut self.said, self.has_gap);
                instructions(block, self.image, Pid(1), |ip| {
                    if !has_gap {
                        said.push(Said::Instruction(ip));
                    }
                });
                block.time
            }
            FlowItem::Event(event) => {
                if !self.has_gap {
                    self.event(event.kind);
                }
                event.time
            }
            FlowItem::Gap(gap) => {
                self.has_gap = true;
                assert!(gap.aux_offset >= self.aux && gap.resumed_at >= gap.aux_offset, "{gap:x?}");
                self.aux = gap.aux_offset;
                gap.time
            }
        };
        assert!(time.not_before <= time.likely && time.likely <= time.not_after, "{item:x?}");
        ControlFlow::Continue(())
    }
}

/// Takes watched calls, and keeps what was learnt of them.
struct Calls(WatchedCalls);

impl FlowSink for Calls {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        let time = item.time();
        assert!(time.not_before <= time.likely && time.likely <= time.not_after, "{item:x?}");
        ControlFlow::Continue(())
    }

    fn grain(&self) -> Grain {
        Grain::Calls
    }

    fn watched(&self) -> WatchedCalls {
        self.0.clone()
    }

    fn learnt(&mut self, learnt: &WatchedCalls) {
        self.0.learn_from(learnt);
    }
}

/// How many instructions of each thread began within a range, and what else there was: the same block by block and in sums.
#[derive(Debug, PartialEq)]
struct Totals {
    grain: Grain,
    range: TscRange,
    instructions: BTreeMap<Option<ThreadId>, u64>,
    events: Vec<EventKind>,
    gaps: Vec<Gap>,
}

impl Totals {
    fn of(decoder: &mut Decoder, window: &Window<'_>, grain: Grain) -> Option<Totals> {
        let (instructions, range) = (BTreeMap::new(), window.range);
        let mut totals = Totals { grain, range, instructions, events: Vec::new(), gaps: Vec::new() };
        let stats = decoder.decode(window, image(), &mut totals).expect("memory");
        totals.grain = Grain::Blocks;
        // Limits end at a block, or at the end of several.
        (!stats.limited).then_some(totals)
    }
}

impl FlowSink for Totals {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        match item {
            FlowItem::Block(block)
                if self.range.contains(block.time.likely) || block.time.likely == self.range.stop =>
            {
                self.sum(block.thread, u64::from(block.instructions));
            }
            FlowItem::Block(_) => {}
            FlowItem::Event(event) => self.events.push(event.kind),
            FlowItem::Gap(gap) => self.gaps.push(gap.clone()),
        }
        ControlFlow::Continue(())
    }

    fn grain(&self) -> Grain {
        self.grain
    }

    fn sum(&mut self, thread: Option<ThreadId>, instructions: u64) {
        *self.instructions.entry(thread).or_default() += instructions;
    }
}

/// Whether the engines differ with reason where such a packet is: types of events, triggers and an execution mode that libipt
/// does not know, items of PEBS, which it takes for a TNT where they are cut off, and the abort of a transaction, whose branch
/// it corrects only where there is code.
fn is_seen_differently(packet: Packet) -> bool {
    matches!(
        packet,
        Packet::Bbp { .. }
            | Packet::Trig { .. }
            | Packet::ModeTsx { aborted: true, .. }
            | Packet::Cfe { kind: 0 | 11 | 14.., .. }
            | Packet::Evd { kind: 3.., .. }
            | Packet::ModeExec { long: true, default_32: true, .. }
    )
}

/// Whether a FUP stands with a MODE.Exec, which may say nothing new but the interrupt flag: that shows nothing to libipt.
fn shows_flag(packets: impl Iterator<Item = Packet>) -> bool {
    let mut after_mode = false;
    for packet in packets {
        match packet {
            Packet::Fup(_) if after_mode => return true,
            Packet::Tsc(_) | Packet::Tma { .. } | Packet::Mtc(_) | Packet::Cyc(_) | Packet::Pad => {}
            packet => after_mode = matches!(packet, Packet::ModeExec { .. }),
        }
    }
    false
}

fn image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let file = std::env::temp_dir().join(format!("pt-window-code-{}", std::process::id()));
        std::fs::write(&file, CODE).expect("a writable folder");
        Image { file: Arc::new(file) }
    })
}

fuzz_target!(|input: (Vec<u8>, u16, bool, u8)| {
    let (data, cut, joined, kind) = input;
    let mut bytes = [0x02, 0x82].repeat(8);
    bytes.extend([
        0x19, 0, 0, 1, 0, 0, 0, 0, 0x02, 0x03, 24, 0, 0x99, 0x01, 0x7d, 0x00, 0x10, 0, 0, 0, 0, 0x02, 0x23,
    ]);
    bytes.extend(data);
    let cut = usize::from(cut).min(bytes.len());
    let hole = u64::from(!joined) * 64;
    let piece = |bytes, start: u64| Piece { bytes, aux_offset: start, file_offset: FileOffset(start) };
    let pieces = [piece(&bytes[..cut], 0), piece(&bytes[cut..], cut as u64 + hole)];
    let (stream, _) = PtStream::new(None, None, pieces, false);
    let thread = |id| ThreadId::new(id, id);
    let occupants = [(0, 1), (0x2_0000, 2), (0x4_0000, 1)]
        .map(|(since, id)| Occupant { since: Tsc(since), thread: thread(id) });
    let stop = if kind & 1 == 0 { u64::MAX } else { 0x3_0000 };
    let window = Window { stream: &stream, range: TscRange::new(Tsc(0), Tsc(stop)), occupants: &occupants };
    let config = PtConfig {
        cpu: (kind & 2 != 0).then_some(CpuModel {
            family: 6,
            model: [94, 61, 0x55, 0x5c, 0x97, 61][usize::from(kind >> 2) % 6],
            stepping: 3,
        }),
        mtc_freq: 3,
        nom_freq: 24,
        tsc_ctc_ratio: Some((200, 2)),
    };
    let limits = Limits { silent_instructions: 10_000, instructions: 200_000, ..Limits::default() };
    let [libipt, native] = [EngineKind::Libipt, EngineKind::Native].map(|engine| {
        let mut check = Check { image: image(), items: 0, aux: 0, said: Vec::new(), has_gap: false };
        let mut decoder = Decoder::new(engine, config.clone(), limits.clone());
        let stats = decoder.decode(&window, image(), &mut check).expect("memory");
        assert!(stats.items == check.items as u64);
        (check.said, check.has_gap || stats.limited)
    });
    let mut decoder = Decoder::new(EngineKind::Native, config.clone(), limits.clone());
    let totals = [Grain::Blocks, Grain::Sums].map(|grain| Totals::of(&mut decoder, &window, grain));
    if let [Some(blocks), Some(sums)] = &totals {
        assert_eq!(blocks, sums);
    }
    // Some addresses that instructions were at, as if functions began there.
    let places = native.0.iter().filter_map(|said| match said {
        Said::Instruction(ip) => Some((*ip, None)),
        Said::Event(_) => None,
    });
    let mut calls = Calls(WatchedCalls::of(places.step_by(7).take(3)));
    for _ in 0..2 {
        decoder.decode(&window, image(), &mut calls).expect("memory");
    }
    let is_broadwell = config.cpu.is_some_and(|cpu| cpu.model == 61);
    if !is_broadwell || stream.packets().any(|found| is_seen_differently(found.packet)) {
        return;
    }
    if shows_flag(stream.packets().map(|found| found.packet)) {
        return;
    }
    let common = libipt.0.len().min(native.0.len());
    let differ = (0..common).find(|&at| libipt.0[at] != native.0[at]);
    if let Some(at) = differ {
        panic!("{at}: libipt {:x?}, native {:x?}", libipt.0[at], native.0[at]);
    }
    // With an end, each stops at the first packet that lets it see that it is over.
    let shorter = if libipt.0.len() < native.0.len() { &libipt } else { &native };
    let alike = libipt.0.len() == native.0.len() || shorter.1 || stop != u64::MAX;
    assert!(alike, "one has more: {:x?}, {:x?}", libipt.0, native.0);
});
