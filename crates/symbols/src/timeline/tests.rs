//! Late maps, maps that hide others, fork, exec and exit, each at its time.

use model::Tid;

use super::*;

fn map(pid: i32, range: Range<u64>, path: &str) -> MapEvent {
    MapEvent::Map(Mapping {
        pid: Pid(pid),
        range,
        file_offset: 0,
        path: path.to_owned(),
        build_id: None,
        inode: None,
    })
}

fn path_at(timelines: &Timelines, pid: i32, address: u64, at: u64) -> Option<&str> {
    let (_, &mapping) = timelines.process(Pid(pid)).at(Tsc(at)).pieces.get(address)?;
    Some(&timelines.mappings[mapping as usize].path)
}

fn replay(events: Vec<(u64, MapEvent)>) -> Timelines {
    Timelines::new(events.into_iter().map(|(at, event)| (Tsc(at), event)).collect())
}

#[test]
fn a_late_map_holds_from_its_time_and_hides_what_it_covers() {
    let timelines = replay(vec![(0, map(1, 0x1000..0x5000, "old")), (100, map(1, 0x2000..0x3000, "new"))]);
    assert_eq!(path_at(&timelines, 1, 0x2800, 99), Some("old"));
    assert_eq!(path_at(&timelines, 1, 0x2800, 100), Some("new"));
    assert_eq!(path_at(&timelines, 1, 0x1fff, 100), Some("old"));
    assert_eq!(path_at(&timelines, 1, 0x3000, 100), Some("old"));
    assert_eq!(path_at(&timelines, 2, 0x2800, 100), None);
    assert_eq!(timelines.process(Pid(1)).at(Tsc(99)).until, Tsc(100));
    assert_eq!(timelines.process(Pid(1)).at(Tsc(100)).until, Tsc(u64::MAX));
}

#[test]
fn a_child_has_what_its_parent_had_when_it_forked() {
    let timelines = replay(vec![
        (0, map(1, 0x1000..0x2000, "before")),
        (10, MapEvent::Fork { parent: Pid(1), child: Pid(2) }),
        (20, map(1, 0x1000..0x2000, "after")),
        (30, map(2, 0x8000..0x9000, "own")),
    ]);
    assert_eq!(path_at(&timelines, 2, 0x1000, 9), None);
    assert_eq!(path_at(&timelines, 2, 0x1000, 25), Some("before"));
    assert_eq!(path_at(&timelines, 1, 0x1000, 25), Some("after"));
    assert_eq!(path_at(&timelines, 1, 0x8000, 35), None);
}

/// perf writes FORK records at zero for what ran before the recording; such a child has long had its own program.
#[test]
fn a_fork_from_before_the_recording_inherits_nothing() {
    let timelines = replay(vec![
        (0, map(1, 0x1000..0x2000, "shell")),
        (0, MapEvent::Fork { parent: Pid(1), child: Pid(2) }),
        (0, map(2, 0x4000..0x5000, "program")),
    ]);
    assert_eq!(path_at(&timelines, 2, 0x1000, 5), None);
    assert_eq!(path_at(&timelines, 2, 0x4000, 5), Some("program"));
}

#[test]
fn exec_takes_all_mappings_away() {
    let timelines = replay(vec![
        (0, map(1, 0x1000..0x2000, "shell")),
        (10, MapEvent::Exec { pid: Pid(1) }),
        (11, map(1, 0x4000..0x5000, "program")),
    ]);
    assert_eq!(path_at(&timelines, 1, 0x1000, 9), Some("shell"));
    assert_eq!(path_at(&timelines, 1, 0x1000, 10), None);
    assert_eq!(path_at(&timelines, 1, 0x4000, 11), Some("program"));
}

#[test]
fn a_number_used_again_begins_anew() {
    for reuse in [map(1, 0x4000..0x5000, "second"), MapEvent::Fork { parent: Pid(9), child: Pid(1) }] {
        let timelines = replay(vec![
            (0, map(1, 0x1000..0x2000, "first")),
            (10, MapEvent::Exit { pid: Pid(1), tid: Tid(1) }),
            (20, reuse),
        ]);
        assert_eq!(
            path_at(&timelines, 1, 0x1000, 15),
            Some("first"),
            "the exit itself unmaps nothing to be decoded"
        );
        assert_eq!(path_at(&timelines, 1, 0x1000, 20), None);
    }
}

#[test]
fn mappings_keep_to_their_half() {
    let timelines = replay(vec![
        (0, map(1, KERNEL_HALF - 0x1000..KERNEL_HALF + 0x1000, "user")),
        (0, map(-1, KERNEL_HALF - 0x1000..KERNEL_HALF + 0x1000, "kernel")),
        (0, map(1, Range { start: 0x3000, end: 0x1000 }, "backwards")),
    ]);
    let pieces = |timeline: &Timeline<u32>| {
        timeline.at(Tsc(0)).pieces.iter().map(|(r, _)| (r.start, r.end)).collect::<Vec<_>>()
    };
    assert_eq!(pieces(timelines.process(Pid(1))), [(KERNEL_HALF - 0x1000, KERNEL_HALF)]);
    assert_eq!(pieces(&timelines.kernel), [(KERNEL_HALF, KERNEL_HALF + 0x1000)]);
}

#[test]
fn functions_of_run_time_come_and_go() {
    let range = KERNEL_HALF + 0x100..KERNEL_HALF + 0x200;
    let symbol =
        |removed| MapEvent::KernelSymbol { range: range.clone(), name: "bpf_prog_1".into(), removed };
    let timelines = replay(vec![(10, symbol(false)), (20, symbol(true))]);
    let found = |at| timelines.run_time_symbols.at(Tsc(at)).pieces.get(KERNEL_HALF + 0x180).is_some();
    assert_eq!([9, 10, 19, 20].map(found), [false, true, true, false]);
}

#[test]
fn a_time_that_runs_back_counts_as_the_newest() {
    let timelines = replay(vec![(50, map(1, 0x1000..0x2000, "a")), (40, map(1, 0x2000..0x3000, "b"))]);
    assert_eq!(path_at(&timelines, 1, 0x2000, 49), None);
    assert_eq!(path_at(&timelines, 1, 0x2000, 50), Some("b"));
}
