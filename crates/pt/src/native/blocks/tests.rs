//! Small code, section by section.

use model::{CodeBytes, CodeSection, Pid, Tsc};

use super::*;

/// `dec ecx; jnz -4; nop; jmp -7`, again and again.
const CODE: [u8; 7] = [0xff, 0xc9, 0x75, 0xfc, 0x90, 0xeb, 0xf9];

/// The code everywhere, and how often it was read.
struct Everywhere(std::sync::atomic::AtomicUsize);

impl CodeBytes for Everywhere {
    fn epoch(&self, _: Pid, _: Tsc) -> CodeEpoch {
        epoch(0, &[])
    }

    fn read(&self, _: Pid, address: u64, _: Tsc, into: &mut [u8]) -> usize {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        for (at, byte) in (address..).zip(into.iter_mut()) {
            *byte = CODE[usize::try_from(at % CODE.len() as u64).expect("small")];
        }
        into.len()
    }
}

fn epoch(id: u64, ranges: &[(u64, u64)]) -> CodeEpoch {
    let file = Arc::new(PathBuf::from("code"));
    let section = |&(start, end): &(u64, u64)| CodeSection {
        range: start..end,
        file: Arc::clone(&file),
        file_offset: 0,
    };
    CodeEpoch { id, until: Tsc(u64::MAX), sections: ranges.iter().map(section).collect() }
}

fn reads(code: &Everywhere) -> usize {
    code.0.load(std::sync::atomic::Ordering::Relaxed)
}

#[test]
fn a_section_is_decoded_once_for_all_epochs_that_map_it() {
    let code = Everywhere(0.into());
    let source = Source { code: &code, pid: Pid(1), at: Tsc(0), bits: 64 };
    let mut map = CodeMap::new();
    map.select(&epoch(1, &[(7000, 8400)]), 64);
    let number = map.at(7000, &source).expect("code");
    let block = *map.block(number);
    assert_eq!((block.end_ip, block.instructions, block.exit), (7002, 2, Exit::Branch));
    assert_eq!((block.next, block.target), (7004, 7000));
    let before = reads(&code);
    map.select(&epoch(2, &[(7000, 8400), (9100, 9800)]), 64);
    assert_eq!(map.at(7000, &source), Ok(number));
    assert_eq!(reads(&code), before);
    // In another mode the same bytes are other code.
    map.select(&epoch(2, &[(7000, 8400), (9100, 9800)]), 16);
    assert_ne!(map.at(7000, &source), Ok(number));
}

#[test]
fn links_stay_within_a_section() {
    let code = Everywhere(0.into());
    let source = Source { code: &code, pid: Pid(1), at: Tsc(0), bits: 64 };
    let mut map = CodeMap::new();
    map.select(&epoch(1, &[(7000, 7004), (7004, 8400)]), 64);
    let first = map.at(7000, &source).expect("code");
    let second = map.at(7004, &source).expect("code");
    map.link(first, false, second);
    assert_eq!(map.block(first).next_link, NONE);
    let third = map.at(7007, &source).expect("code");
    map.link(second, true, third);
    assert_eq!(map.block(second).target_link, third);
}

#[test]
fn the_sections_of_a_kernel_are_linked_over_poked_code() {
    // 7000 and 7004 are multiples of seven and four more; so are these.
    const KERNEL: u64 = 0xffff_ffff_8100_0000 / 7 * 7;
    let code = Everywhere(0.into());
    let source = Source { code: &code, pid: Pid(1), at: Tsc(0), bits: 64 };
    let (user, front, rest) = ((7000, 7014), (KERNEL, KERNEL + 4), (KERNEL + 7, KERNEL + 1400));
    let mut map = CodeMap::new();
    map.select(&epoch(1, &[user, front, rest]), 64);
    let first = map.at(KERNEL, &source).expect("code");
    let beyond = map.at(KERNEL + 14, &source).expect("code");
    map.link(first, false, beyond);
    assert_eq!(map.block(first).next_link, beyond);
    // Poked code may change at any time.
    assert_eq!(map.at(KERNEL + 4, &source), Ok(LOOSE));
    map.link(first, true, LOOSE);
    assert_eq!(map.block(first).target_link, NONE);
    // Never between the kernel and a process.
    let of_process = map.at(7000, &source).expect("code");
    map.link(first, true, of_process);
    assert_eq!(map.block(first).target_link, NONE);
    // Another process has the same kernel.
    map.select(&epoch(2, &[front, rest]), 64);
    assert_eq!(map.at(KERNEL, &source), Ok(first));
    // Where `beyond` was poked, too, the kernel is another one, and no link leads there.
    map.select(&epoch(3, &[front, (KERNEL + 21, KERNEL + 1400)]), 64);
    let other = map.at(KERNEL, &source).expect("code");
    assert_ne!(other, first);
    assert_eq!(map.block(other).next_link, NONE);
}

#[test]
fn code_in_no_section_is_read_each_time() {
    let code = Everywhere(0.into());
    let source = Source { code: &code, pid: Pid(1), at: Tsc(0), bits: 64 };
    let mut map = CodeMap::new();
    map.select(&epoch(1, &[(7004, 8400)]), 64);
    assert_eq!(map.at(7000, &source), Ok(LOOSE));
    let before = reads(&code);
    assert_eq!(map.at(7000, &source), Ok(LOOSE));
    assert!(reads(&code) > before);
    // Up to where the section begins.
    assert_eq!(map.at(7002, &source), Ok(LOOSE));
    assert_eq!((map.block(LOOSE).instructions, map.block(LOOSE).exit), (1, Exit::Branch));
}

#[test]
fn an_instruction_across_two_sections_is_one() {
    let code = Everywhere(0.into());
    let source = Source { code: &code, pid: Pid(1), at: Tsc(0), bits: 64 };
    let mut map = CodeMap::new();
    map.select(&epoch(1, &[(7000, 7003), (7003, 8400)]), 64);
    let first = map.at(7000, &source).expect("code");
    assert_eq!((map.block(first).instructions, map.block(first).exit), (1, Exit::Border));
    assert_eq!(map.at(7002, &source), Ok(LOOSE));
    assert_eq!((map.block(LOOSE).next, map.block(LOOSE).exit), (7004, Exit::Branch));
}

#[test]
fn memory_is_bounded() {
    let code = Everywhere(0.into());
    let source = Source { code: &code, pid: Pid(1), at: Tsc(0), bits: 64 };
    let mut map = CodeMap::new();
    map.most_bytes = 100 << 10;
    map.select(&epoch(1, &[(0, u64::MAX)]), 64);
    for index in 0..10_000 {
        map.at(index * 7 * 1000, &source).expect("code");
        map.hop(1, &source);
        assert!(map.held() < 110 << 10);
        let slots = map.pages.len() * size_of::<[u32; PAGE]>();
        assert!(
            slots + map.blocks.len() * size_of::<Block>() + map.hops.len() * size_of::<Hop>() < 110 << 10
        );
    }
    assert!(map.generation() > 100, "{}", map.generation());
}

/// Calls, jumps and a circle.
struct Calls;

impl CodeBytes for Calls {
    fn epoch(&self, _: Pid, _: Tsc) -> CodeEpoch {
        epoch(0, &[])
    }

    fn read(&self, _: Pid, address: u64, _: Tsc, into: &mut [u8]) -> usize {
        // 1000: call 1010; 1005: jnz 1005; 1007: ret. 1010: call 1015; 1015: jmp 1020. 1020: nop; ret. 1030: jmp 1030.
        let mut code = [0x90; 40];
        code[..5].copy_from_slice(&[0xe8, 5, 0, 0, 0]);
        code[5..8].copy_from_slice(&[0x75, 0xfe, 0xc3]);
        code[10..15].copy_from_slice(&[0xe8, 0, 0, 0, 0]);
        code[15..17].copy_from_slice(&[0xeb, 3]);
        code[20..22].copy_from_slice(&[0x90, 0xc3]);
        code[30..32].copy_from_slice(&[0xeb, 0xfe]);
        let rest = &code[usize::try_from(address - 1000).expect("in the code").min(40)..];
        let count = into.len().min(rest.len());
        into[..count].copy_from_slice(&rest[..count]);
        count
    }
}

#[test]
fn a_hop_leads_over_direct_jumps_and_calls() {
    let source = Source { code: &Calls, pid: Pid(1), at: Tsc(0), bits: 64 };
    let mut map = CodeMap::new();
    map.select(&epoch(1, &[(1000, 1040)]), 64);
    let first = map.at(1000, &source).expect("code");
    let hop = map.hop(first, &source);
    assert_eq!((hop.turn, hop.blocks, hop.instructions), (Turn::Return, 4, 5));
    // The call of the next instruction leaves no address.
    assert_eq!((hop.calls, hop.call), (1, first));
    assert_eq!(map.block(hop.last).ip, 1020);
    let mut way = vec![first];
    while way.last() != Some(&hop.last) {
        way.push(map.block(*way.last().expect("one")).way_on());
    }
    assert_eq!(way.iter().map(|&number| map.block(number).ip).collect::<Vec<_>>(), [1000, 1010, 1015, 1020]);
}

#[test]
fn a_circle_of_jumps_is_no_hop() {
    let source = Source { code: &Calls, pid: Pid(1), at: Tsc(0), bits: 64 };
    let mut map = CodeMap::new();
    map.select(&epoch(1, &[(1000, 1040)]), 64);
    let circle = map.at(1030, &source).expect("code");
    assert_eq!(map.hop(circle, &source).turn, Turn::Never);
    assert_eq!(map.hop(LOOSE, &source).turn, Turn::Never);
}

#[test]
fn a_hop_stays_within_a_section() {
    let source = Source { code: &Calls, pid: Pid(1), at: Tsc(0), bits: 64 };
    let mut map = CodeMap::new();
    map.select(&epoch(1, &[(1000, 1008), (1008, 1040)]), 64);
    let first = map.at(1000, &source).expect("code");
    assert_eq!(map.hop(first, &source).turn, Turn::Never);
    let after = map.at(1005, &source).expect("code");
    let hop = map.hop(after, &source);
    assert_eq!((hop.turn, hop.instructions, hop.links), (Turn::Branch, 1, [NONE; 2]));
    map.link(after, true, after);
    assert_eq!((map.linked(after, true), map.linked(after, false)), (after, NONE));
    assert_eq!(map.hop(after, &source).links, [NONE, after]);
}

#[test]
fn the_front_of_a_block_ends_where_a_packet_binds() {
    let source = Source { code: &Calls, pid: Pid(1), at: Tsc(0), bits: 64 };
    for (ranges, start) in [(&[(1000, 1040)][..], 1020), (&[], 1020)] {
        let mut map = CodeMap::new();
        map.select(&epoch(1, ranges), 64);
        let number = map.at(start, &source).expect("code");
        let part = |wanted| map.prefix(number, wanted).map(|part| part.block);
        let before = part(Wanted::Before(1021)).expect("there");
        assert_eq!(
            (before.instructions, before.end_ip, before.next, before.exit),
            (1, 1020, 1021, Exit::Border)
        );
        let with = part(Wanted::With(1021)).expect("there");
        assert_eq!((with.instructions, with.end_ip, with.next, with.exit), (2, 1021, 1022, Exit::Return));
        assert!(part(Wanted::Ptwrite).is_none() && part(Wanted::Before(1022)).is_none());
    }
}
