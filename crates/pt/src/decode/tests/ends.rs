//! What ends tracing where no address is given, and what a FUP shows that stands with MODE.Exec alone.

use super::*;

/// ```text
/// 1000  0f 22 d8  mov cr3, rax
/// 1003  90        nop
/// 1004  0f 07     sysret
/// 1006  0f 22 d8  mov cr3, rax
/// 1009  90        nop
/// 100a  ff e0     jmp rax
/// ```
struct Kernel;

impl CodeBytes for Kernel {
    fn epoch(&self, pid: Pid, at: Tsc) -> CodeEpoch {
        UNPATCHED.epoch(pid, at)
    }

    fn read(&self, _: Pid, address: u64, _: Tsc, into: &mut [u8]) -> usize {
        let code = [0x0f, 0x22, 0xd8, 0x90, 0x0f, 0x07, 0x0f, 0x22, 0xd8, 0x90, 0xff, 0xe0];
        let from = usize::try_from(address.wrapping_sub(0x1000)).unwrap_or(usize::MAX);
        let rest = code.get(from..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        count
    }
}

const PIP: [u8; 8] = [0x02, 0x43, 0x02, 0x20, 0, 0, 0, 0];

fn instructions(bytes: &[u8], code: &dyn CodeBytes) -> u32 {
    let stream = one_piece(bytes);
    let window = Window { stream: &stream, range: ALL, occupants: &[] };
    let flow = decode_window(&mut engine(EngineKind::Native, 1000), &window, code).expect("memory");
    assert_eq!(gaps(&flow), []);
    assert_eq!(events(&flow).last(), Some(&EventKind::Disabled { ip: None, from: None }));
    blocks(&flow).iter().map(|block| block.1).sum()
}

/// Where the kernel alone is traced, it switches to the page table of the user before it returns: the far return
/// ends tracing. Where none follows, tracing ended with the address space.
#[test]
fn a_far_return_ends_tracing_and_no_page_table_before_it() {
    for (start, expected) in [(0x1000, 3), (0x1006, 1)] {
        for pip in [&PIP[..], &[]] {
            let bytes = [&psb(0x10000, Some(start)), pip, &[TIP_PGD]].concat();
            assert_eq!(instructions(&bytes, &Kernel), expected, "from {start:x}, {pip:x?}");
        }
    }
}

/// A trigger changes nothing but that its FUP says where execution was: at 1003, before packets were lost.
#[test]
fn a_trigger_is_no_damage() {
    let alone = vec![0xd9, 0x20, 0x03];
    let counted = vec![0xd9, 0x40, 0x01, 1, 0];
    let named = [vec![0xd9, 0xc0, 0x1a, 0, 0], ip_packet(0x1d, 0x1003)].concat();
    let lost = [vec![0x02, 0xf3], ip_packet(0x1d, 0x1004), vec![TIP_PGD]].concat();
    let start = [psb(0x10000, Some(0x1000)), alone, vec![NOT_TAKEN], counted].concat();
    // 1000, then 1004 after the loss; with the FUP 1002 as well.
    for (trigger, expected) in [(vec![], 2), (named, 3)] {
        assert_eq!(instructions(&[&start[..], &trigger, &lost].concat(), &UNPATCHED), expected);
    }
}

/// The interrupt flag changed before 1004: what ran up to there is known, though packets are lost right after.
#[test]
fn a_fup_shows_what_ran_before_packets_were_lost() {
    let flag = [vec![0x99, 0x05], ip_packet(0x1d, 0x1004)].concat();
    let lost = [vec![0x02, 0xf3], ip_packet(0x1d, 0x1004), vec![TIP_PGD]].concat();
    let bytes = [psb(0x10000, Some(0x1000)), vec![NOT_TAKEN], flag, lost].concat();
    // 1000 1002 1003, then 1004 after the loss.
    assert_eq!(instructions(&bytes, &UNPATCHED), 4);
}
