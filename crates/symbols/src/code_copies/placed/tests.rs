//! Which bytes stand where at which time: each rule with the smallest recording that shows it.

use model::{CodeBytes, MapEvent, Mapping, Pid, Tsc};

use crate::code_copies::{CodeCopy, to_bytes};
use crate::{ProcessImages, SearchPath};

const PAGE: u64 = 0x7000;

/// Process, address, first and last time, bytes.
type Seen<'a> = (i32, u64, u64, u64, &'a [u8]);

fn map(pid: i32, path: &str) -> MapEvent {
    let (range, path) = (PAGE..PAGE + 0x2000, path.to_owned());
    MapEvent::Map(Mapping { pid: Pid(pid), range, file_offset: 0, path, build_id: None, inode: None })
}

fn exec(pid: i32) -> MapEvent {
    MapEvent::Exec { pid: Pid(pid) }
}

struct Recording {
    images: ProcessImages,
    /// What is looked for lies here.
    _folder: tempfile::TempDir,
}

impl Recording {
    fn of(events: &[(u64, MapEvent)], seen: &[Seen<'_>]) -> Recording {
        let folder = tempfile::tempdir().expect("a folder");
        let copies: Vec<(CodeCopy, &[u8])> = seen
            .iter()
            .map(|&(pid, address, from, to, bytes)| {
                let copy = CodeCopy { pid: Pid(pid), address, from: Tsc(from), to: Tsc(to), bytes: 0..0 };
                (copy, bytes)
            })
            .collect();
        let path = folder.path().join("code");
        std::fs::write(&path, to_bytes(copies.iter().map(|(copy, bytes)| (copy, *bytes)))).expect("written");
        std::fs::write(folder.path().join("library"), b"LIBRARY").expect("written");
        let search = SearchPath {
            symfs: Some(folder.path().to_owned()),
            code_copies: Some(path),
            ..SearchPath::default()
        };
        let events = events.iter().map(|(at, event)| (Tsc(*at), event.clone())).collect();
        Recording { images: ProcessImages::new(search, events, Vec::new()), _folder: folder }
    }

    /// Four bytes of `pid` at [`PAGE`], `.` where there are none; read, and by the sections of that time.
    fn at(&self, pid: i32, at: u64) -> String {
        let byte = |address| {
            let mut byte = [0];
            let read = self.images.read(Pid(pid), address, Tsc(at), &mut byte);
            if read == 1 { char::from(byte[0]) } else { '.' }
        };
        let read: String = (PAGE..PAGE + 4).map(byte).collect();
        let epoch = self.images.epoch(Pid(pid), Tsc(at));
        let of_section = |address| {
            let section = epoch.sections.iter().find(|section| section.range.contains(&address))?;
            let file = std::fs::read(&*section.file).expect("the file");
            let at = section.file_offset + (address - section.range.start);
            file.get(usize::try_from(at).ok()?).copied()
        };
        let of_sections: String =
            (PAGE..PAGE + 4).map(|address| of_section(address).map_or('.', char::from)).collect();
        assert_eq!(read, of_sections, "at {at}");
        assert!(epoch.until > Tsc(at));
        read
    }
}

#[test]
fn the_first_copy_holds_since_the_memory_was_mapped() {
    let recording = Recording::of(&[(5, map(1, "//anon"))], &[(1, PAGE, 50, 90, b"abcd")]);
    assert_eq!([4, 5, 50, 1000].map(|at| recording.at(1, at)), ["....", "abcd", "abcd", "abcd"]);
    assert_eq!(recording.at(2, 50), "....");
}

#[test]
fn a_file_and_a_file_that_is_gone() {
    let seen: &[Seen<'_>] = &[(1, PAGE, 50, 90, b"abcd")];
    assert_eq!(Recording::of(&[(5, map(1, "/library"))], seen).at(1, 60), "LIBR");
    assert_eq!(Recording::of(&[(5, map(1, "/tmp/ffi (deleted)"))], seen).at(1, 60), "abcd");
    assert_eq!(Recording::of(&[(5, map(1, "/memfd:jit (deleted)"))], seen).at(1, 60), "abcd");
}

#[test]
fn code_that_was_added_is_there_since_the_copy_before() {
    let seen: &[Seen<'_>] = &[(1, PAGE, 20, 40, b"ab\0\0"), (1, PAGE, 60, 80, b"abcd")];
    let recording = Recording::of(&[(5, map(1, "//anon"))], seen);
    assert_eq!([39, 40, 60].map(|at| recording.at(1, at)), ["ab\0\0", "abcd", "abcd"]);
}

#[test]
fn what_was_written_over_is_unknown_until_it_was_seen() {
    let seen: &[Seen<'_>] = &[(1, PAGE, 20, 40, b"aby\0"), (1, PAGE, 60, 80, b"axyd")];
    let recording = Recording::of(&[(5, map(1, "//anon"))], seen);
    assert_eq!([39, 40, 59, 60].map(|at| recording.at(1, at)), ["aby\0", "a.yd", "a.yd", "axyd"]);
}

/// A runtime makes its code writable and executable again: that is recorded, and between the first and the last of it the code is in doubt.
#[test]
fn a_change_of_protection_says_when() {
    let seen: &[Seen<'_>] = &[(1, PAGE, 20, 40, b"abcd"), (1, PAGE, 60, 80, b"aXcd")];
    let once = Recording::of(&[(5, map(1, "//anon")), (50, map(1, "//anon"))], seen);
    assert_eq!([49, 50].map(|at| once.at(1, at)), ["abcd", "aXcd"]);
    let twice = Recording::of(&[(5, map(1, "//anon")), (45, map(1, "//anon")), (55, map(1, "//anon"))], seen);
    assert_eq!([44, 45, 54, 55].map(|at| twice.at(1, at)), ["abcd", "a.cd", "a.cd", "aXcd"]);
    // Of other memory.
    let elsewhere = MapEvent::Map(Mapping {
        pid: Pid(1),
        range: 0x9000..0xa000,
        file_offset: 0,
        path: "//anon".to_owned(),
        build_id: None,
        inode: None,
    });
    let other = Recording::of(&[(5, map(1, "//anon")), (50, elsewhere)], seen);
    assert_eq!(other.at(1, 55), "a.cd");
}

#[test]
fn a_program_begins_without_the_code_of_the_one_before() {
    let seen: &[Seen<'_>] = &[(1, PAGE, 20, 40, b"abcd"), (1, PAGE, 70, 80, b"AXcd")];
    let events = [(5, map(1, "//anon")), (50, exec(1)), (60, map(1, "//anon"))];
    let recording = Recording::of(&events, seen);
    assert_eq!([49, 55, 60].map(|at| recording.at(1, at)), ["abcd", "....", "AXcd"]);
}

#[test]
fn a_child_has_the_code_of_its_parent() {
    let fork = |at| (at, MapEvent::Fork { parent: Pid(1), child: Pid(2) });
    let seen: &[Seen<'_>] = &[(1, PAGE, 20, 40, b"abcd"), (1, PAGE, 60, 80, b"aXcd")];
    let recording = Recording::of(&[(5, map(1, "//anon")), fork(30)], seen);
    assert_eq!([29, 30, 70].map(|at| recording.at(2, at)), ["....", "abcd", "abcd"]);
    let mapped = Recording::of(&[(5, map(1, "//anon")), fork(30), (40, map(2, "//anon"))], seen);
    assert_eq!([39, 40].map(|at| mapped.at(2, at)), ["abcd", "...."], "mapped anew in the child");
    let own = [seen, &[(2, PAGE, 90, 90, b"abZd")]].concat();
    let child = Recording::of(&[(5, map(1, "//anon")), fork(30)], &own);
    assert_eq!([35, 89, 90].map(|at| child.at(2, at)), ["ab.d", "ab.d", "abZd"], "what it wrote over");
}

/// An allocator that gives memory back and has it again at the same address.
#[test]
fn memory_that_is_mapped_anew_has_other_code() {
    let seen: &[Seen<'_>] = &[(1, PAGE, 50, 60, b"abcd")];
    let before = Recording::of(&[(5, map(1, "//anon")), (40, map(1, "//anon"))], seen);
    assert_eq!([39, 40, 50].map(|at| before.at(1, at)), ["....", "abcd", "abcd"]);
    let after = Recording::of(&[(5, map(1, "//anon")), (70, map(1, "//anon"))], seen);
    assert_eq!([69, 70].map(|at| after.at(1, at)), ["abcd", "...."]);
}

/// Its record is from before it was deleted: a library that is unpacked, loaded and removed.
#[test]
fn a_file_that_was_deleted_after_it_was_mapped() {
    let seen: &[Seen<'_>] = &[(1, PAGE, 20, 40, b"abcd")];
    let mapped = Recording::of(&[(5, map(1, "/no/such/other"))], seen);
    assert_eq!(mapped.at(1, 30), "abcd");
    // A library whose file is not at hand, where code without a file lay before.
    let later = Recording::of(&[(5, map(1, "//anon")), (50, map(1, "/no/such/other"))], seen);
    assert_eq!([49, 50].map(|at| later.at(1, at)), ["abcd", "...."]);
}

/// What the recorder saw and had no room for.
#[test]
fn zeros_alone_end_a_copy() {
    let seen: &[Seen<'_>] =
        &[(1, PAGE, 20, 40, b"abcd"), (1, PAGE, 50, 60, b"\0\0\0\0"), (1, PAGE, 70, 80, b"abXd")];
    let recording = Recording::of(&[(5, map(1, "//anon"))], seen);
    assert_eq!([39, 45, 55, 60].map(|at| recording.at(1, at)), ["abcd", "....", "....", "abXd"]);
}

/// The first look may come after the fork; and a grandchild has what its parent has of its own parent.
#[test]
fn what_was_seen_late_is_inherited() {
    let fork = |at, parent, child| (at, MapEvent::Fork { parent: Pid(parent), child: Pid(child) });
    let late: &[Seen<'_>] = &[(1, PAGE, 50, 60, b"abcd"), (2, PAGE, 90, 90, b"abZd")];
    let recording = Recording::of(&[(5, map(1, "//anon")), fork(30, 1, 2)], late);
    assert_eq!([35, 90].map(|at| recording.at(2, at)), ["ab.d", "abZd"]);
    let early: &[Seen<'_>] = &[(1, PAGE, 20, 60, b"abcd"), (3, PAGE, 90, 90, b"abZd")];
    let recording = Recording::of(&[(5, map(1, "//anon")), fork(30, 1, 2), fork(40, 2, 3)], early);
    assert_eq!([45, 90].map(|at| recording.at(3, at)), ["ab.d", "abZd"]);
}

/// A distance of a jump has zeros, too.
#[test]
fn a_zero_among_code_may_be_written_over() {
    let seen: &[Seen<'_>] = &[(1, PAGE, 20, 40, b"a\0cd"), (1, PAGE, 60, 80, b"aXcd")];
    let recording = Recording::of(&[(5, map(1, "//anon"))], seen);
    assert_eq!([39, 40, 59, 60].map(|at| recording.at(1, at)), ["a\0cd", "a.cd", "a.cd", "aXcd"]);
}

/// perf renames an older capture, and not what lies beside it.
#[test]
fn copies_of_another_recording_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("code");
    let copy = CodeCopy { pid: Pid(1), address: PAGE, from: Tsc(50), to: Tsc(60), bytes: 0..0 };
    std::fs::write(&path, to_bytes([(&copy, &b"abcd"[..])])).expect("written");
    for (since, is_used) in [(10, true), (55, true), (60, true), (61, false)] {
        let search = SearchPath {
            code_copies: Some(path.clone()),
            recorded_since: Some(Tsc(since)),
            ..SearchPath::default()
        };
        let images = ProcessImages::new(search, vec![(Tsc(5), map(1, "//anon"))], Vec::new());
        let read = images.read(Pid(1), PAGE, Tsc(70), &mut [0]);
        let warns = images.diagnostics().iter().any(|one| one.what.contains("at another time"));
        assert_eq!((read == 1, warns), (is_used, !is_used), "since {since}");
    }
}

#[test]
fn a_damaged_file_is_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("code");
    std::fs::write(&path, b"tailtrace-code/2").expect("written");
    let search = SearchPath { code_copies: Some(path), ..SearchPath::default() };
    let images = ProcessImages::new(search, vec![(Tsc(5), map(1, "//anon"))], Vec::new());
    let said = images.diagnostics();
    assert!(
        said.len() == 1 && said[0].what.contains("does not begin like a file of code copies"),
        "{said:?}"
    );
}
