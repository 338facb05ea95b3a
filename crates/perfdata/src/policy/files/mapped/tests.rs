//! Mappings by hand-made records: what an address is of changes with maps, forks and execs.

use model::{PerfTime, Pid};

use crate::bytes;
use crate::test_file::{TestFile, name};

const MMAP2: u32 = 10;
const COMM: u32 = 3;
const FORK: u32 = 7;
/// `PERF_RECORD_MISC_MMAP_DATA` and `_COMM_EXEC` (`perf_event.h`): the same bit, by record.
const DATA_OR_EXEC: u16 = 1 << 13;

/// MMAP2 of a process: address, length, position in the file, device and inode, protection, flags, name.
fn map(pid: i32, address: u64, offset: u64, path: &str) -> Vec<u8> {
    let place = bytes![pid, pid, address, 0x1000u64, offset];
    let file = bytes![8u32, 1u32, 99u64, 0u64, 1u32, 2u32];
    [place, file, name(path)].concat()
}

fn fork(pid: i32, parent: i32, time: u64) -> Vec<u8> {
    bytes![pid, parent, pid, parent, time]
}

/// An address and its file: process, address, time.
fn told(file: TestFile, questions: &[(i32, u64, u64)]) -> Vec<String> {
    let perf_data = file.open();
    let tell = |&(pid, address, time): &(i32, u64, u64)| {
        let found = perf_data.mapped_file(Pid(pid), address, PerfTime(time));
        found.map_or_else(|| "-".to_owned(), |place| place.to_string())
    };
    questions.iter().map(tell).collect()
}

#[test]
fn the_last_mapping_of_an_address_counts() {
    let file = TestFile::new().timed(MMAP2, DATA_OR_EXEC, &map(10, 0x7000, 0x3000, "/srv/db"), 20).timed(
        MMAP2,
        DATA_OR_EXEC,
        &map(10, 0x7800, 0, "//anon"),
        40,
    );
    let questions =
        [(10, 0x7123, 10), (10, 0x7123, 20), (10, 0x7900, 30), (10, 0x7900, 40), (10, 0x7123, 40)];
    let expected = ["-", "/srv/db+0x3123", "/srv/db+0x3900", "-", "/srv/db+0x3123"];
    assert_eq!(told(file, &questions), expected);
    let beside = [(10, 0x6fff, 50), (10, 0x8000, 50), (11, 0x7123, 50)];
    let file = TestFile::new().timed(MMAP2, 0, &map(10, 0x7000, 0, "/srv/db"), 20);
    assert_eq!(told(file, &beside), ["-", "-", "-"]);
}

#[test]
fn a_child_has_what_its_parent_had_then() {
    let file = TestFile::new()
        .timed(MMAP2, 0, &map(10, 0x7000, 0, "/a"), 20)
        .timed(FORK, 0, &fork(30, 10, 25), 25)
        .timed(MMAP2, 0, &map(10, 0x7000, 0, "/b"), 30)
        .timed(COMM, DATA_OR_EXEC, &[bytes![30i32, 30i32], name("new")].concat(), 50);
    let questions = [(30, 0x7001, 24), (30, 0x7001, 40), (10, 0x7001, 40), (30, 0x7001, 50)];
    assert_eq!(told(file, &questions), ["-", "/a+0x1", "/b+0x1", "-"]);
}

/// A process that is its own ancestor, by records of a file that lies.
#[test]
fn a_circle_of_parents_ends() {
    let file = TestFile::new().timed(FORK, 0, &fork(10, 30, 20), 20).timed(FORK, 0, &fork(30, 10, 20), 20);
    assert_eq!(told(file, &[(10, 0x7000, 30)]), ["-"]);
}
