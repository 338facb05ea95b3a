//! Which saved name holds when, by hand-made records.

use model::{PerfTime, Pid, TimeConversion};

use super::SavedNames;
use crate::policy::machine::OpenDescriptor;
use crate::traced::Traced;

fn saved(fd: u32, name: &str, from: u64, to: u64) -> OpenDescriptor {
    OpenDescriptor { pid: 5, fd, name: name.to_owned(), from, to }
}

fn names_of(traced: Traced, descriptors: &[OpenDescriptor], questions: &[(i32, u32, u64)]) -> Vec<String> {
    let perf = traced.0.open();
    let names = SavedNames::of(&perf.records, descriptors, TimeConversion::NANOSECONDS);
    let tell = |&(pid, fd, time): &(i32, u32, u64)| {
        names.at(Pid(pid), fd, PerfTime(time)).map_or_else(|| "-".to_owned(), |name| name.to_string())
    };
    questions.iter().map(tell).collect()
}

/// Of two looks at 10 and 50 with other names; a close at 30.
#[test]
fn a_name_holds_from_call_to_call() {
    let traced = Traced::new().close(30, 5, 7);
    let descriptors = [saved(7, "/a", 10, 20), saved(7, "/b", 50, 60), saved(8, "TCP 1", 10, 10)];
    let questions =
        [(5, 7, 5), (5, 7, 15), (5, 7, 29), (5, 7, 31), (5, 7, 55), (5, 7, 90), (5, 8, 90), (6, 7, 15)];
    assert_eq!(
        names_of(traced, &descriptors, &questions),
        ["/a", "/a", "/a", "/b", "/b", "/b", "TCP 1", "-"]
    );
}

/// Closed and opened again between two looks at the same name: from the call on the later look counts.
#[test]
fn between_two_looks_a_call_ends_it() {
    let traced = Traced::new().close(20, 5, 7).open(30, 5, "/a", 7).close(40, 5, 7);
    let descriptors = [saved(7, "/a", 10, 50)];
    let questions = [(5, 7, 15), (5, 7, 25), (5, 7, 35), (5, 7, 45)];
    assert_eq!(names_of(traced, &descriptors, &questions), ["/a", "-", "-", "/a"]);
}

/// Without records of calls only the time between the looks counts.
#[test]
fn without_calls_it_holds_between_the_looks() {
    let traced = Traced(crate::test_file::TestFile::default());
    let descriptors = [saved(7, "/a", 10, 20)];
    assert_eq!(
        names_of(traced, &descriptors, &[(5, 7, 9), (5, 7, 10), (5, 7, 20), (5, 7, 21)]),
        ["-", "/a", "/a", "-"]
    );
}
