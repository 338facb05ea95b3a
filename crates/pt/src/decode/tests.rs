//! Small streams over a small program, packet by packet; expected flows are worked out by hand.

use std::sync::Arc;

use super::*;
use crate::{
    Block, BlockEnd, Decoder, EngineKind, EventKind, Flow, FlowItem, Occupant, Piece, decode_window,
};
use model::{CodeEpoch, FileOffset, Pid, ThreadId, Tsc, TscRange};

mod blocks;
mod borders;
mod cached;
mod damage;
mod ends;
mod errata;

/// ```text
/// 1000  75 02        jne 1004
/// 1002  90 90        nop; nop
/// 1004  ff e0        jmp rax
/// 1006  eb fe        jmp 1006
/// 1008  f3 0f ae e0  ptwrite eax
/// 100c  eb f2        jmp 1000
/// 100e  cc
/// ```
const CODE: [u8; 15] =
    [0x75, 2, 0x90, 0x90, 0xff, 0xe0, 0xeb, 0xfe, 0xf3, 0x0f, 0xae, 0xe0, 0xeb, 0xf2, 0xcc];

/// The program, with another in place of the two nops (`ff d0` = call rax) from a time on, and for process 7.
struct Memory {
    patched_from: Tsc,
}

impl CodeBytes for Memory {
    fn epoch(&self, pid: Pid, _: Tsc) -> CodeEpoch {
        CodeEpoch { id: u64::from(pid == Pid(7)), until: Tsc(u64::MAX), sections: Arc::new([]) }
    }

    fn read(&self, pid: Pid, address: u64, at: Tsc, into: &mut [u8]) -> usize {
        let mut code = CODE;
        if at >= self.patched_from || pid == Pid(7) {
            code[2..4].copy_from_slice(&[0xff, 0xd0]);
        }
        let from = usize::try_from(address.wrapping_sub(0x1000)).unwrap_or(usize::MAX);
        let rest = code.get(from..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        count
    }
}

const UNPATCHED: Memory = Memory { patched_from: Tsc(u64::MAX) };
const ALL: TscRange = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };

/// What is worked out by hand holds for either engine.
const KINDS: [EngineKind; 2] = [EngineKind::Libipt, EngineKind::Native];

/// One tick a cycle, no MTC.
fn engine(kind: EngineKind, silent_instructions: u64) -> Decoder {
    let config = PtConfig { nom_freq: 24, ..PtConfig::default() };
    Decoder::new(kind, config, Limits { silent_instructions, ..Limits::default() })
}

fn psb(tsc: u64, ip: Option<u16>) -> Vec<u8> {
    let mut bytes = PSB.to_vec();
    bytes.push(0x19);
    bytes.extend(&tsc.to_le_bytes()[..7]);
    bytes.extend([0x02, 0x03, 24, 0]);
    if let Some(ip) = ip {
        bytes.extend([0x99, 0x01, 0x7d]);
        bytes.extend(ip.to_le_bytes());
        bytes.extend([0; 4]);
    }
    bytes.extend([0x02, 0x23]);
    bytes
}

fn cyc(cycles: u8) -> Vec<u8> {
    vec![cycles << 3 | 3]
}

fn ip_packet(opcode: u8, ip: u16) -> Vec<u8> {
    let mut bytes = vec![opcode | 3 << 5];
    bytes.extend(ip.to_le_bytes());
    bytes.extend([0; 4]);
    bytes
}

fn tip(ip: u16) -> Vec<u8> {
    ip_packet(0x0d, ip)
}

const TAKEN: u8 = 0x06;
const NOT_TAKEN: u8 = 0x04;
const TIP_PGD: u8 = 0x01;

fn one_piece(bytes: &[u8]) -> PtStream<'_> {
    PtStream::new(None, None, [Piece { bytes, aux_offset: 0, file_offset: FileOffset(0) }], false).0
}

fn decode(
    kind: EngineKind,
    stream: &PtStream<'_>,
    range: TscRange,
    occupants: &[Occupant],
    code: &Memory,
) -> Flow {
    let window = Window { stream, range, occupants };
    decode_window(&mut engine(kind, 1000), &window, code).expect("memory")
}

fn flow(kind: EngineKind, parts: &[&[u8]]) -> Flow {
    let bytes = parts.concat();
    decode(kind, &one_piece(&bytes), ALL, &[], &UNPATCHED)
}

/// Address, instructions, end and time of each block.
fn blocks(flow: &Flow) -> Vec<(u64, u32, BlockEnd, u64, u64)> {
    let mut blocks = Vec::new();
    for item in &flow.items {
        if let FlowItem::Block(Block { ip, instructions, end, time, .. }) = *item {
            blocks.push((ip, instructions, end, time.not_before.0, time.not_after.0));
        }
    }
    blocks
}

fn events(flow: &Flow) -> Vec<EventKind> {
    let mut events = Vec::new();
    for item in &flow.items {
        if let FlowItem::Event(event) = item {
            events.push(event.kind);
        }
    }
    events
}

fn gaps(flow: &Flow) -> Vec<(GapReason, u64, u64)> {
    let mut gaps = Vec::new();
    for item in &flow.items {
        if let FlowItem::Gap(gap) = item {
            gaps.push((gap.reason.clone(), gap.aux_offset, gap.resumed_at));
        }
    }
    gaps
}

#[test]
fn blocks_have_the_times_around_them() {
    for kind in KINDS {
        let parts =
            [psb(0x10000, Some(0x1000)), cyc(10), vec![TAKEN], cyc(5), tip(0x1000), cyc(7), vec![NOT_TAKEN]];
        let flow = flow(kind, &[&parts.concat(), &cyc(1), &tip(0x1000), &[TIP_PGD]]);
        let expected = [
            (0x1000, 1, BlockEnd::ConditionalBranch, 0x10000, 0x1000a),
            (0x1004, 1, BlockEnd::Jump, 0x1000a, 0x1000f),
            (0x1000, 1, BlockEnd::ConditionalBranch, 0x1000f, 0x10016),
            (0x1002, 3, BlockEnd::Jump, 0x10016, 0x10017),
        ];
        assert_eq!(blocks(&flow)[..4], expected);
        assert_eq!(gaps(&flow), []);
    }
}

#[test]
fn a_window_leaves_out_what_lies_before_and_behind() {
    for kind in KINDS {
        let turn = [cyc(10), vec![TAKEN], cyc(10), tip(0x1000)].concat();
        let bytes = [psb(0x10000, Some(0x1000)), turn.repeat(10)].concat();
        let range = TscRange::new(Tsc(0x10000 + 55), Tsc(0x10000 + 95));
        let flow = decode(kind, &one_piece(&bytes), range, &[], &UNPATCHED);
        let times: Vec<_> =
            blocks(&flow).iter().map(|block| (block.3 - 0x10000, block.4 - 0x10000)).collect();
        assert_eq!(times, [(50, 60), (60, 70), (70, 80), (80, 90), (90, 100)]);
    }
}

#[test]
fn a_window_begins_with_the_ratio_that_holds() {
    for kind in KINDS {
        let turn = [cyc(10), vec![TAKEN], cyc(10), tip(0x1000)].concat();
        let slower = vec![0x02, 0x03, 12, 0];
        let bytes = [psb(0x10000, Some(0x1000)), turn.clone(), slower, turn.repeat(10)].concat();
        let ratios = |from: u64| {
            let range = TscRange::new(Tsc(0x10000 + from), Tsc(0x10000 + 200));
            let flow = decode(kind, &one_piece(&bytes), range, &[], &UNPATCHED);
            let told = flow.items.iter().position(|item| matches!(item, FlowItem::Event(_)));
            (told, events(&flow))
        };
        let [full, half] = [24, 12].map(|ratio| EventKind::CoreBusRatio { ratio });
        assert_eq!(ratios(0), (Some(0), vec![full, half]));
        // Ten ticks in, the first ratio is past but holds; at 100 only the second does.
        assert_eq!(ratios(15), (Some(0), vec![full, half]));
        assert_eq!(ratios(100), (Some(0), vec![half]));
    }
}

#[test]
fn goes_on_at_tip_pge_behind_missing_code_with_the_time_kept() {
    for kind in KINDS {
        let before = [psb(0x10000, Some(0x1000)), cyc(10), vec![TAKEN], cyc(5), tip(0x9000)].concat();
        let lost = [cyc(3), vec![TAKEN], cyc(4), vec![TIP_PGD]].concat();
        let after = [ip_packet(0x11, 0x1000), cyc(6), vec![TAKEN], cyc(1), tip(0x1000)].concat();
        let flow = flow(kind, &[&before, &lost, &after]);
        let resumed = (before.len() + lost.len()) as u64;
        let [(reason, failed, at)] = &gaps(&flow)[..] else { panic!("{flow:x?}") };
        assert_eq!((reason, *at), (&GapReason::NoCode { ip: 0x9000 }, resumed));
        assert!((before.len() as u64..resumed).contains(failed));
        let behind: Vec<_> = blocks(&flow).into_iter().skip(2).take(2).collect();
        let expected = [
            (0x1000, 1, BlockEnd::ConditionalBranch, 0x10016, 0x1001c),
            (0x1004, 1, BlockEnd::Jump, 0x1001c, 0x1001d),
        ];
        assert_eq!(behind, expected);
    }
}

#[test]
fn a_loop_without_packets_ends_at_the_limit() {
    for kind in KINDS {
        let next = psb(0x20000, Some(0x1000));
        let flow =
            flow(kind, &[&psb(0x10000, Some(0x1000)), &[TAKEN], &tip(0x1006), &[TAKEN], &next, &[TAKEN]]);
        let gaps = gaps(&flow);
        assert_eq!(gaps.len(), 1);
        assert_eq!(gaps[0].0, GapReason::EndlessLoop { ip: 0x1006 });
        assert_eq!(
            blocks(&flow).iter().rev().find(|block| block.0 < 0x1006).map(|block| block.0),
            Some(0x1004)
        );
    }
}

/// A stranger's trace may have a sync point every few bytes: each costs what the code is long, not what a limit allows.
#[test]
fn a_loop_without_packets_ends_when_it_is_known_to_be_one() {
    for kind in KINDS {
        let endless = [psb(0x10000, Some(0x1000)), vec![TAKEN], tip(0x1006)].concat();
        let window = Window { stream: &one_piece(&endless), range: ALL, occupants: &[] };
        let flow = decode_window(&mut engine(kind, u64::MAX), &window, &UNPATCHED).expect("memory");
        let instructions: u32 = blocks(&flow).iter().map(|block| block.1).sum();
        assert!(instructions < 5_000, "{instructions}");
    }
}

#[test]
fn missing_aux_is_a_gap() {
    for kind in KINDS {
        let bytes = [psb(0x10000, Some(0x1000)), vec![TAKEN]].concat();
        let pieces =
            [0, 200].map(|start| Piece { bytes: &bytes, aux_offset: start, file_offset: FileOffset(start) });
        let (stream, diagnostics) = PtStream::new(None, None, pieces, false);
        let flow = decode(kind, &stream, ALL, &[], &UNPATCHED);
        assert_eq!(gaps(&flow), [(GapReason::MissingAux, bytes.len() as u64, 200)]);
        assert_eq!(diagnostics.len(), 1);
    }
}

#[test]
fn no_sync_point_is_a_gap() {
    for kind in KINDS {
        assert_eq!(gaps(&flow(kind, &[&[TAKEN; 30]])), [(GapReason::NoSync, 0, 30)]);
        let parts = [vec![TAKEN; 9], psb(0x10000, None)].concat();
        assert_eq!(gaps(&flow(kind, &[&parts])), [(GapReason::NoSync, 0, 9)]);
        assert_eq!(gaps(&flow(kind, &[&[0; 9], &psb(0x10000, None)])), []);
    }
}

#[test]
fn every_kind_of_event() {
    for kind in KINDS {
        let ptw = [0x02, 0x12, 0x44, 0, 0, 0];
        let power =
            [[0x02, 0xc2, 0x60, 0, 0, 0, 1, 0, 0, 0].as_slice(), &[0x02, 0x22, 0x80, 0x61], &[0x02, 0x62]]
                .concat();
        let wake = [0x02, 0xa2, 0x36, 0x01, 0, 0, 0];
        let pip = [0x02, 0x43, 0x03, 0x20, 0, 0, 0, 0];
        let off = [psb(0x10000, None), power, wake.to_vec(), pip.to_vec(), vec![0x02, 0x03, 30, 0]].concat();
        let on = [ip_packet(0x11, 0x1008), ptw.to_vec(), vec![TAKEN, TIP_PGD, 0x02, 0x83]].concat();
        let flow = flow(kind, &[&off, &[0x99, 0x01], &on]);
        // libipt holds MWAIT back until the EXSTOP that belongs to it.
        let expected = [
            EventKind::CoreBusRatio { ratio: 24 },
            EventKind::PowerEntry { state: 6, sub_state: 1, by_hardware: true },
            EventKind::Mwait { hints: 0x60, ext: 1 },
            EventKind::ExecutionStopped { ip: None },
            EventKind::PowerExit { last: 3, deepest: 6, interrupt: true, store: false, autonomous: false },
            EventKind::Paging { cr3: 0x1001 << 5, non_root: true },
            EventKind::CoreBusRatio { ratio: 30 },
            EventKind::Enabled { ip: 0x1008, resumed: false },
            EventKind::Ptwrite { payload: 0x44, ip: Some(0x1008) },
            EventKind::Disabled { ip: None, from: None },
            EventKind::TraceStop,
        ];
        assert_eq!(events(&flow), expected);
        assert_eq!(gaps(&flow), []);
    }
}

#[test]
fn event_trace_transactions_and_overflow() {
    for kind in KINDS {
        // #PF at 1004: EVD with CR2, CFE with IP, FUP; then the handler.
        let evd = [0x02, 0x53, 0x00, 0x88, 0x77, 0, 0, 0, 0, 0, 0];
        let fault = [evd.to_vec(), vec![0x02, 0x13, 0x01, 14], ip_packet(0x1d, 0x1004), tip(0x1000)].concat();
        let transaction = [vec![0x99, 0x21], ip_packet(0x1d, 0x1004)].concat();
        let overflow = [vec![0x02, 0xf3], ip_packet(0x1d, 0x1000)].concat();
        let parts = [vec![TAKEN], fault, vec![TAKEN], transaction, overflow, vec![TAKEN, TIP_PGD]].concat();
        let flow = flow(kind, &[&psb(0x10000, Some(0x1000)), &parts]);
        let found = events(&flow);
        for expected in [
            EventKind::EventData { kind: 0, payload: 0x7788 },
            EventKind::ControlFlowEvent { kind: 1, vector: 14, ip: Some(0x1004) },
            EventKind::AsyncBranch { from: 0x1004, to: 0x1000 },
            EventKind::Transaction { active: true, aborted: false },
            EventKind::Overflow { ip: Some(0x1000) },
        ] {
            assert!(found.contains(&expected), "{expected:x?} in {found:x?}, {:?}", gaps(&flow));
        }
    }
}

#[test]
fn code_is_read_as_it_was_then() {
    for kind in KINDS {
        let turn = [cyc(10), vec![NOT_TAKEN], cyc(10), tip(0x1000)].concat();
        let bytes = [psb(0x10000, Some(0x1000)), turn.repeat(2)].concat();
        // From tick 25 on a call stands where two nops were.
        let flow = decode(kind, &one_piece(&bytes), ALL, &[], &Memory { patched_from: Tsc(0x10000 + 25) });
        let ends: Vec<_> = blocks(&flow).iter().take(4).map(|block| (block.0, block.2)).collect();
        let branch = BlockEnd::ConditionalBranch;
        assert_eq!(
            ends,
            [(0x1000, branch), (0x1002, BlockEnd::Jump), (0x1000, branch), (0x1002, BlockEnd::Call)]
        );
    }
}

#[test]
fn user_code_changes_hands_while_it_is_not_traced() {
    for kind in KINDS {
        let turn = [cyc(10), vec![NOT_TAKEN], cyc(10)].concat();
        let bytes = [
            psb(0x10000, Some(0x1000)),
            turn.clone(),
            tip(0x1000),
            turn.clone(),
            tip(0x1000),
            vec![TIP_PGD],
            ip_packet(0x11, 0x1000),
            turn,
            tip(0x1000),
        ]
        .concat();
        let (first, second) = (ThreadId::new(1, 1), ThreadId::new(7, 8));
        let occupants = [
            Occupant { since: Tsc(0), thread: first },
            Occupant { since: Tsc(0x10000 + 15), thread: second },
        ];
        let flow = decode(kind, &one_piece(&bytes), ALL, &occupants, &UNPATCHED);
        let mut seen = Vec::new();
        for item in &flow.items {
            if let FlowItem::Block(block) = item
                && block.ip == 0x1002
            {
                seen.push((block.thread, block.end));
            }
        }
        let (first, second) = ((Some(first), BlockEnd::Jump), (Some(second), BlockEnd::Call));
        assert_eq!(seen, [first, first, second]);
    }
}

#[test]
fn sixteen_and_thirty_two_bit_code() {
    for kind in KINDS {
        for (mode, bits) in [(0x02, 32), (0x00, 16)] {
            let bytes = [psb(0x10000, None), vec![0x99, mode], ip_packet(0x11, 0x1000), vec![TAKEN]].concat();
            let flow = flow(kind, &[&bytes, &tip(0x1000)]);
            let FlowItem::Block(block) =
                &flow.items.iter().find(|item| matches!(item, FlowItem::Block(_))).expect("one")
            else {
                panic!()
            };
            assert_eq!((block.bits, block.ip), (bits, 0x1000));
        }
    }
}
