//! Sections against the bytes that reading gives, for made-up address spaces over real files.
#![allow(clippy::cast_possible_truncation)] // Small numbers, made here.

use std::collections::HashMap;
use std::path::Path;

use model::{MapEvent, Mapping};
use proptest::prelude::*;

use super::*;
use crate::search::SearchPath;

const PAGE: u64 = 0x1000;
/// Where the made-up kcore's text begins.
const TEXT: u64 = 0xffff_ffff_8100_0000;

/// An ELF core file with one segment at `address`: what perf copies `/proc/kcore` to.
fn core_file(address: u64, bytes: &[u8]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let put = |file: &mut Vec<u8>, numbers: &[(u64, usize)]| {
        for (number, size) in numbers {
            file.extend_from_slice(&number.to_le_bytes()[..*size]);
        }
    };
    let header = [
        (4, 2),
        (62, 2),
        (1, 4),
        (0, 8),
        (64, 8),
        (0, 8),
        (0, 4),
        (64, 2),
        (56, 2),
        (1, 2),
        (0, 2),
        (0, 2),
        (0, 2),
    ];
    put(&mut file, &header);
    let size = bytes.len() as u64;
    put(&mut file, &[(1, 4), (7, 4), (0x1000, 8), (address, 8), (0, 8), (size, 8), (size, 8), (0x1000, 8)]);
    file.resize(0x1000, 0);
    file.extend_from_slice(bytes);
    file
}

/// A folder with two files to map, one not a whole number of pages long, and a kcore.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("test input");
    let bytes = |seed: usize, length: usize| -> Vec<u8> {
        (0..length).map(|index| ((index * 7 + seed) % 251) as u8).collect()
    };
    std::fs::write(dir.path().join("a"), bytes(1, 8 * PAGE as usize)).expect("test input");
    std::fs::write(dir.path().join("b"), bytes(2, 5 * PAGE as usize + 100)).expect("test input");
    std::fs::write(dir.path().join("kcore"), core_file(TEXT, &bytes(3, 2 * PAGE as usize)))
        .expect("test input");
    std::fs::write(dir.path().join("kallsyms"), format!("{TEXT:x} T _text\n{:x} t next\n", TEXT + 0x100))
        .expect("test input");
    dir
}

fn images(dir: &Path, events: Vec<(Tsc, MapEvent)>) -> ProcessImages {
    let search =
        SearchPath { symfs: Some(dir.to_owned()), kcore_dir: Some(dir.to_owned()), ..SearchPath::default() };
    ProcessImages::new(search, events, Vec::new())
}

fn map(pid: i32, page: u64, pages: u64, file_page: u64, path: &str) -> MapEvent {
    MapEvent::Map(Mapping {
        pid: Pid(pid),
        range: page * PAGE..(page + pages) * PAGE,
        file_offset: file_page * PAGE,
        path: path.to_owned(),
        build_id: None,
        inode: None,
    })
}

fn kernel_text(size: u64) -> MapEvent {
    MapEvent::Map(Mapping {
        pid: Pid::KERNEL,
        range: TEXT..TEXT + size,
        file_offset: TEXT,
        path: "[kernel.kallsyms]_text".to_owned(),
        build_id: None,
        inode: None,
    })
}

fn poke(address: u64, old: u8, new: u8, length: usize) -> MapEvent {
    MapEvent::TextPoke { address, old_bytes: vec![old; length], new_bytes: vec![new; length] }
}

/// Any event of two processes.
fn event() -> impl Strategy<Value = MapEvent> {
    let path = prop_oneof![Just("/a"), Just("/b"), Just("/missing"), Just("//anon"), Just("[vdso]")];
    prop_oneof![
        8 => (1..3, 1u64..20, 1u64..8, 0u64..9, path).prop_map(|(pid, page, pages, at, path)| map(pid, page, pages, at, path)),
        1 => (1..3, 1..3).prop_map(|(parent, child)| MapEvent::Fork { parent: Pid(parent), child: Pid(child) }),
        1 => (1..3).prop_map(|pid| MapEvent::Exec { pid: Pid(pid) }),
        2 => (0u64..2 * PAGE, any::<u8>(), any::<u8>(), 1usize..20).prop_map(|(at, old, new, length)| poke(TEXT + at, old, new, length)),
    ]
}

fn check_epoch(images: &ProcessImages, pid: Pid, at: Tsc) {
    let epoch = images.epoch(pid, at);
    assert!(epoch.until > at);
    assert!(epoch.sections.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    for section in epoch.sections.iter() {
        assert!(section.range.start < section.range.end);
        let file = std::fs::read(&*section.file).expect("test input");
        let length = (section.range.end - section.range.start) as usize;
        let expected = &file[section.file_offset as usize..][..length];
        let mut bytes = vec![0; length];
        assert_eq!(images.read(pid, section.range.start, at, &mut bytes), length);
        assert_eq!(bytes, expected, "{section:?}");
    }
    for time in [at.0 + 1, (at.0 + 100).min(epoch.until.0 - 1)] {
        let again = images.epoch(pid, Tsc(time.min(epoch.until.0 - 1)));
        assert_eq!((again.id, &again.sections), (epoch.id, &epoch.sections));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn sections_are_ordered_disjoint_and_hold_what_reading_gives(events in proptest::collection::vec(event(), 0..25)) {
        let dir = folder();
        let timed = events.into_iter().zip(1u64..).map(|(event, at)| (Tsc(at * 10), event)).collect();
        let images = images(dir.path(), timed);
        let mut by_id: HashMap<u64, Arc<[CodeSection]>> = HashMap::new();
        for at in (0..270).step_by(5) {
            for pid in [Pid(1), Pid(2), Pid(77)] {
                check_epoch(&images, pid, Tsc(at));
                let epoch = images.epoch(pid, Tsc(at));
                let known = by_id.entry(epoch.id).or_insert_with(|| Arc::clone(&epoch.sections));
                prop_assert_eq!(&*known, &epoch.sections);
            }
        }
    }
}

#[test]
fn poked_code_is_a_hole_that_reading_fills_as_of_the_time() {
    let dir = folder();
    let events = vec![(Tsc(0), kernel_text(2 * PAGE)), (Tsc(50), poke(TEXT + 0x10, 0xcc, 0xe9, 5))];
    let images = images(dir.path(), events);
    for at in [Tsc(0), Tsc(49), Tsc(50), Tsc(1000)] {
        let ranges: Vec<Range<u64>> =
            images.epoch(Pid(1), at).sections.iter().map(|s| s.range.clone()).collect();
        assert_eq!(ranges, [TEXT..TEXT + 0x10, TEXT + 0x15..TEXT + 2 * PAGE]);
        let mut bytes = [0; 8];
        assert_eq!(images.read(Pid(1), TEXT + 0xe, at, &mut bytes), 8);
        let file = |index: usize| ((index * 7 + 3) % 251) as u8;
        let poked = if at < Tsc(50) { 0xcc } else { 0xe9 };
        assert_eq!(bytes, [file(0xe), file(0xf), poked, poked, poked, poked, poked, file(0x15)]);
    }
    assert_eq!(images.epoch(Pid(1), Tsc(0)).until, Tsc(u64::MAX), "a poke changes no section");
}

#[test]
fn a_section_ends_with_its_file() {
    let dir = folder();
    let images = images(dir.path(), vec![(Tsc(0), map(1, 1, 8, 0, "/b"))]);
    let epoch = images.epoch(Pid(1), Tsc(0));
    assert_eq!(epoch.sections[0].range, PAGE..6 * PAGE + 100);
    assert_eq!(images.read(Pid(1), 6 * PAGE, Tsc(0), &mut [0; 200]), 100);
}

#[test]
fn reading_goes_on_over_neighbouring_mappings() {
    let dir = folder();
    let images = images(dir.path(), vec![(Tsc(0), map(1, 1, 1, 0, "/a")), (Tsc(0), map(1, 2, 1, 0, "/b"))]);
    let mut bytes = [0; 16];
    assert_eq!(images.read(Pid(1), 2 * PAGE - 8, Tsc(0), &mut bytes), 16);
    assert_eq!(bytes[8], 2);
}

#[test]
fn what_was_needed_and_is_missing_is_said_once() {
    let dir = folder();
    let events = vec![(Tsc(0), map(1, 1, 1, 0, "/lib/gone.so")), (Tsc(0), map(1, 2, 1, 0, "/lib/unused.so"))];
    let images = images(dir.path(), events);
    images.epoch(Pid(1), Tsc(0));
    assert_eq!(images.diagnostics(), [], "nobody needed it yet");
    for _ in 0..2 {
        assert_eq!(images.read(Pid(1), PAGE, Tsc(0), &mut [0; 4]), 0);
    }
    let said: Vec<String> = images.diagnostics().into_iter().map(|diagnostic| diagnostic.what).collect();
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("/lib/gone.so") && said[0].contains("--symfs"), "{said:?}");
}

#[test]
fn equal_sections_share_an_id_across_processes_without_memory() {
    let dir = folder();
    let images = images(dir.path(), vec![(Tsc(0), map(1, 1, 1, 0, "/a"))]);
    assert_eq!(images.epoch(Pid(0), Tsc(0)).id, images.epoch(Pid(42), Tsc(9)).id);
    assert_ne!(images.epoch(Pid(0), Tsc(0)).id, images.epoch(Pid(1), Tsc(0)).id);
}
