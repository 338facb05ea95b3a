//! Any packets over a small code image with calls, loops, far transfers and endless jumps: decoding ends, within
//! its bounds, and items come in order.
#![no_main]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use model::{CodeBytes, CodeEpoch, CodeSection, FileOffset, Pid, ThreadId, Tsc, TscRange};
use pt::{
    CpuModel, Engine as _, FlowItem, FlowSink, Libipt, Limits, Occupant, Piece, PtConfig, PtStream, Window,
    instructions,
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

struct Check<'i> {
    image: &'i Image,
    items: usize,
    aux: u64,
}

impl FlowSink for Check<'_> {
    fn item(&mut self, item: FlowItem) -> ControlFlow<()> {
        self.items += 1;
        let time = match &item {
            FlowItem::Block(block) => {
                assert!(block.instructions > 0);
                instructions(block, self.image, Pid(1), |_| ());
                block.time
            }
            FlowItem::Event(event) => event.time,
            FlowItem::Gap(gap) => {
                assert!(gap.aux_offset >= self.aux && gap.resumed_at >= gap.aux_offset, "{gap:x?}");
                self.aux = gap.aux_offset;
                gap.time
            }
        };
        assert!(time.not_before <= time.likely && time.likely <= time.not_after, "{item:x?}");
        ControlFlow::Continue(())
    }
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
            model: if kind & 4 == 0 { 94 } else { 61 },
            stepping: 3,
        }),
        mtc_freq: 3,
        nom_freq: 24,
        tsc_ctc_ratio: Some((200, 2)),
    };
    let limits = Limits { silent_instructions: 10_000, instructions: 200_000, ..Limits::default() };
    let mut check = Check { image: image(), items: 0, aux: 0 };
    let stats = Libipt::new(config, limits).decode(&window, image(), &mut check).expect("memory");
    assert!(stats.items == check.items as u64);
});
