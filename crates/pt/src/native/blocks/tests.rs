//! Small code, section by section.

use super::*;
use model::CodeSection;

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
        assert!(
            map.pages.len() * size_of::<[u32; PAGE]>() + map.blocks.len() * size_of::<Block>() < 110 << 10
        );
    }
    assert!(map.generation() > 100, "{}", map.generation());
}
