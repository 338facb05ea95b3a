//! What is kept of memory that is made up by hand: files in place of `/proc/PID/maps`, `mem` and `pagemap`.

use std::os::unix::fs::FileExt as _;

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
        // The first two pages are there, the second in swap.
        machine.file("pagemap", &[]);
        machine.there(0, 1 << 63);
        machine.there(1, 1 << 62);
        machine.there(2, 0);
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
    // The third page is not there: it is not read.
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
    (kept.most, kept.attached) = (2 * PAGE, Vec::new());
    machine.fill(0, 1);
    machine.fill(1, 2);
    let later = Instant::now() + Duration::from_secs(600);
    kept.look_at(7, false, later);
    assert_eq!((machine.written(&kept), kept.left_out.len()), (vec![(0, 1, false)], 0));
    kept.look_at(7, true, later);
    assert_eq!(machine.written(&kept), [(0, 1, true), (1, 2, false)]);
    let mut kept = machine.kept();
    kept.most = 2 * PAGE;
    machine.file("maps", b"00100000-00103000 r-xp 00000000 08:01 9 /usr/bin/app (deleted)\n");
    kept.look_at(7, false, later);
    assert_eq!(machine.written(&kept), []);
    kept.look_at(7, true, later);
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
    kept.look_at(7, true, Instant::now());
    assert_eq!(machine.written(&kept), []);
}
