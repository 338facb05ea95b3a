//! What is kept of memory that is made up by hand: files in place of `/proc/PID/maps`, `mem` and `pagemap`.

use std::os::unix::fs::{FileExt as _, PermissionsExt as _};

use symbols::code_copies::CodeCopies as File;

use super::*;

const PAGE: usize = 4096;
/// Where the memory of process 7 lies: three pages.
const START: u64 = 0x10_0000;

struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(tempfile::tempdir().expect("a folder"));
        machine.file("maps", b"00100000-00103000 rwxp 00000000 00:00 0 \n");
        machine.file("mem", &[]);
        // The first two pages are there, the third is swapped out.
        machine.file("pagemap", &[]);
        machine.there(0, 1 << 63);
        machine.there(1, 1 << 63);
        machine.there(2, 1 << 62);
        machine
    }

    fn file(&self, name: &str, bytes: &[u8]) {
        let folder = self.0.path().join("proc/7");
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join(name), bytes).expect("written");
    }

    fn write(&self, name: &str, at: u64, bytes: &[u8]) {
        let path = self.0.path().join("proc/7").join(name);
        let file = fs::File::options().write(true).open(path).expect("there");
        file.write_all_at(bytes, at).expect("written");
    }

    fn there(&self, page: u64, entry: u64) {
        self.write("pagemap", (START / PAGE as u64 + page) * 8, &u64::to_le_bytes(entry));
    }

    /// Page `page` is full of `byte`.
    fn fill(&self, page: u64, byte: u8) {
        self.write("mem", START + page * PAGE as u64, &[byte; PAGE]);
    }

    fn kept(&self) -> Kept {
        let kept = Kept::of(self.0.path(), &["-p", "7"].map(OsString::from));
        Kept { look: Duration::from_secs(600), ..kept }
    }

    /// What the file has: page, first byte, and whether it was seen again.
    fn written(&self, kept: &Kept) -> Vec<(u64, u8, bool)> {
        let path = self.0.path().join("code");
        if !kept.write_to(&path).expect("written") {
            return Vec::new();
        }
        let bytes = fs::read(path).expect("the file");
        let read = File::parse(&bytes).expect("copies");
        let of = |copy: &CodeCopy| {
            assert_eq!((copy.pid, copy.bytes.len()), (Pid(7), PAGE));
            ((copy.address - START) / PAGE as u64, bytes[copy.bytes.start], copy.from < copy.to)
        };
        read.copies.iter().map(of).collect()
    }
}

#[test]
fn each_content_of_a_page_is_kept_once() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    (0..3).for_each(|page| machine.fill(page, 0xc3));
    kept.look_at_watched();
    // The third page is not there: reading it would wait for the disk.
    assert_eq!(machine.written(&kept), [(0, 0xc3, false), (1, 0xc3, false)]);
    assert_eq!(kept.bytes, PAGE, "equal bytes count once");
    machine.fill(1, 0x90);
    let changed = marks::tsc();
    kept.look_at_watched();
    assert_eq!(machine.written(&kept), [(0, 0xc3, true), (1, 0xc3, false), (1, 0x90, false)]);
    let times: Vec<u64> = kept.pages[&(7, START + PAGE as u64)].iter().map(|seen| seen.from).collect();
    assert!(times[0] < changed && changed < times[1]);
    // What is gone stays as it was; memory that is all zero is none.
    machine.fill(0, 0);
    kept.look_at_watched();
    assert_eq!(machine.written(&kept).len(), 3);
}

#[test]
fn there_is_room_for_so_many_bytes() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    kept.most = PAGE;
    machine.fill(0, 1);
    machine.fill(1, 2);
    kept.look_at_watched();
    assert_eq!(machine.written(&kept), [(0, 1, false)]);
    let notes = kept.notes(Path::new("perf.data.code")).join("\n");
    assert!(notes.contains("perf.data.code: 1 page of code that lies in no file, of 1 program"), "{notes}");
    assert!(notes.contains("for some of 1 page there was no room"), "{notes}");
}

/// What other processes have, and deleted files, must not take the room of the code that is looked for.
#[test]
fn others_and_deleted_files_have_half_of_the_room() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    (kept.most, kept.targets.processes) = (2 * PAGE, Vec::new());
    machine.fill(0, 1);
    machine.fill(1, 2);
    let later = Instant::now() + Duration::from_secs(600);
    kept.look_at(7, false, BEGIN, later);
    assert_eq!((machine.written(&kept), kept.left_out.len()), (vec![(0, 1, false)], 0));
    kept.look_at(7, true, BEGIN, later);
    assert_eq!(machine.written(&kept), [(0, 1, true), (1, 2, false)]);
    let mut kept = machine.kept();
    kept.most = 2 * PAGE;
    machine.file("maps", b"00100000-00103000 r-xp 00000000 08:01 9 /usr/bin/app (deleted)\n");
    kept.look_at(7, false, BEGIN, later);
    assert_eq!(machine.written(&kept), []);
    kept.look_at(7, true, BEGIN, later);
    assert_eq!(machine.written(&kept), [(0, 1, false)]);
}

#[test]
fn what_no_ring_can_hold_is_forgotten() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    machine.fill(0, 1);
    kept.look_at_watched();
    kept.forget(Some(RECENT));
    assert_eq!(machine.written(&kept), [(0, 1, false)]);
    kept.forget(None);
    assert_eq!(machine.written(&kept), [(0, 1, false)]);
    kept.forget(Some(Duration::ZERO));
    assert_eq!((machine.written(&kept), kept.bytes), (Vec::new(), 0));
}

#[test]
fn a_look_that_has_no_time_left_ends() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    machine.fill(0, 1);
    assert_eq!(kept.look_at(7, true, BEGIN, Instant::now()), Some(BEGIN));
    assert_eq!(machine.written(&kept), []);
}

#[test]
fn a_look_goes_on_where_there_was_no_time() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    machine.fill(0, 1);
    machine.fill(1, 2);
    let later = Instant::now() + Duration::from_secs(600);
    let second = (false, START + PAGE as u64);
    assert_eq!(kept.look_at(7, true, second, later), None);
    assert_eq!(machine.written(&kept), [(1, 2, false)]);
    let incomplete =
        |kept: &Kept| kept.notes(Path::new("code")).join("\n").contains("memory of process 7 ended before");
    let mut kept = machine.kept();
    (kept.look, kept.next) = (Duration::ZERO, (7, second));
    kept.look_at_watched();
    assert_eq!((kept.next, incomplete(&kept)), ((7, second), true));
    kept.look = Duration::from_secs(600);
    kept.look_at_watched();
    assert_eq!(machine.written(&kept), [(1, 2, false)]);
    assert!(!incomplete(&kept));
    kept.look_at_watched();
    assert_eq!(machine.written(&kept), [(0, 1, false), (1, 2, true)]);
}

/// A page in the middle of 16 GiB of which almost nothing else is there.
#[test]
fn a_large_reservation_is_looked_at_to_its_end() {
    let machine = Machine::new();
    machine.file("maps", b"00100000-400100000 rwxp 00000000 00:00 0 \n");
    let far = 1 << 21;
    machine.there(far, 1 << 63);
    machine.there(1 << 22, 0);
    machine.fill(0, 1);
    machine.fill(far, 2);
    let mut kept = machine.kept();
    kept.look_at_watched();
    assert_eq!(machine.written(&kept), [(0, 1, false), (far, 2, false)]);
    assert!(kept.complete.contains(&7));
}

#[test]
fn paths_of_any_bytes_hide_no_memory() {
    let machine = Machine::new();
    let maps =
        b"00010000-00011000 r-xp 00000000 08:01 9 /srv/\xff\n00100000-00103000 rwxp 00000000 00:00 0 \n";
    machine.file("maps", maps);
    machine.fill(0, 1);
    let mut kept = machine.kept();
    kept.look_at_watched();
    assert_eq!(machine.written(&kept), [(0, 1, false)]);
}

#[test]
fn without_pagemap_nothing_is_read() {
    let machine = Machine::new();
    machine.fill(0, 1);
    fs::remove_file(machine.0.path().join("proc/7/pagemap")).expect("removed");
    let mut kept = machine.kept();
    kept.look_at_watched();
    assert_eq!(machine.written(&kept), []);
    let notes = kept.notes(Path::new("code")).join("\n");
    assert!(notes.contains("/proc/PID/pagemap of process 7 cannot be read"), "{notes}");
}

#[test]
fn data_that_changes_does_not_fill_the_room() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    for content in 1..=20 {
        machine.fill(0, content);
        kept.look_at_watched();
    }
    let written: Vec<u8> = machine.written(&kept).iter().map(|(_, content, _)| *content).collect();
    assert_eq!(written, [1, 2, 3, 4, 5, 6, 0, 20], "zeros: what was there between is not known");
    assert_eq!((kept.bytes, kept.copies, kept.contents.len()), (7 * PAGE, 8, 7));
}

/// What was written over and is there again was not there in between.
#[test]
fn contents_that_take_turns_stay_apart() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    for turn in 0..20 {
        machine.fill(0, 1 + turn % 2);
        kept.look_at_watched();
        let written: Vec<u8> = machine.written(&kept).iter().map(|(_, content, _)| *content).collect();
        assert!(written.windows(2).all(|two| two[0] != two[1]), "{written:?}");
        assert_eq!((written.len(), written.last()), (kept.copies, Some(&(1 + turn % 2))));
        assert!(kept.copies <= MOST_CONTENTS && kept.bytes <= 2 * PAGE);
    }
}

#[test]
fn there_are_no_more_copies_than_are_read() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    kept.most_copies = 1;
    machine.fill(0, 1);
    machine.fill(1, 1);
    kept.look_at_watched();
    assert_eq!(machine.written(&kept), [(0, 1, false)]);
    assert_eq!(kept.left_out.len(), 1);
    kept.forget(Some(Duration::ZERO));
    assert_eq!(kept.copies, 0);
}

/// Else the one before would count for what came after it.
#[test]
fn a_content_without_room_ends_the_one_before() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    machine.fill(0, 1);
    kept.look_at_watched();
    kept.most = 0;
    for content in [2, 3] {
        machine.fill(0, content);
        kept.look_at_watched();
    }
    let written: Vec<u8> = machine.written(&kept).iter().map(|(_, content, _)| *content).collect();
    assert_eq!((written, kept.copies), (vec![1, 0], 2));
    machine.fill(0, 1);
    kept.look_at_watched();
    let written: Vec<u8> = machine.written(&kept).iter().map(|(_, content, _)| *content).collect();
    assert_eq!(written, [1, 0, 1]);
    let seen = kept.pages.values().next().expect("the page");
    assert_eq!(seen[1].to, seen[2].from, "what there was no room for may have been there until then");
}

#[test]
fn other_users_may_not_read_the_copies() {
    let machine = Machine::new();
    let mut kept = machine.kept();
    machine.fill(0, 1);
    kept.look_at_watched();
    let path = machine.0.path().join("code");
    fs::write(&path, b"of another recording").expect("written");
    assert_eq!(machine.written(&kept).len(), 1);
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
