use super::*;
use crate::tui::testing::sample::segment;

fn on(cpu: Option<u32>, tid: i32, segment: SegmentReport) -> SegmentReport {
    SegmentReport { cpu, tid: Some(tid), ..segment }
}

fn presence(offset: u64, duration: u64, name: &str) -> Presence {
    Presence { offset, duration, name: name.to_owned() }
}

/// Thread 1 runs on CPU 0, waits for thread 2, which runs on CPU 0 and waits for thread 3; then 1 runs on CPU 5.
fn waiting() -> OutlierReport {
    let mut inner = on(None, 2, segment(40, 20, "offcpu.lock", ""));
    inner.during = vec![on(Some(7), 3, segment(40, 20, "user.expected", "deep"))];
    let mut wait = on(None, 1, segment(10, 80, "offcpu.lock", ""));
    wait.during = vec![on(Some(0), 2, segment(10, 30, "user.expected", "holder")), inner];
    let segments = vec![
        on(Some(0), 1, segment(0, 10, "user.expected", "before")),
        wait,
        on(Some(5), 1, segment(90, 10, "user.expected", "after")),
    ];
    OutlierReport { duration_ns: 100, segments, ..OutlierReport::default() }
}

#[test]
fn threads_cpus_and_wakers_have_a_lane_each() {
    let cpus = vec![(0, vec![presence(60, 30, "other")]), (5, Vec::new())];
    let lanes = lanes(&waiting(), cpus, &|tid| format!("t{tid}"));
    let told = |lane: &Lane| {
        let times: Vec<(u64, u64)> =
            lane.segments.iter().map(|segment| (segment.offset_ns, segment.duration_ns)).collect();
        (lane.title.clone(), times)
    };
    let expected: [(&str, &[(u64, u64)]); 5] = [
        ("t1", &[(0, 10), (10, 80), (90, 10)]),
        ("CPU 0", &[(0, 10), (10, 30)]),
        ("CPU 5", &[(90, 10)]),
        ("↳ t2", &[(10, 30), (40, 20)]),
        ("↳↳ t3", &[(40, 20)]),
    ];
    let expected = expected.map(|(title, times)| (title.to_owned(), times.to_vec()));
    assert_eq!(lanes.iter().map(told).collect::<Vec<_>>(), expected);
}

#[test]
fn a_column_belongs_to_who_was_there_longest() {
    let others = vec![presence(0, 10, "a"), presence(10, 45, "b"), presence(70, 30, "c")];
    let lane = Lane { others, ..Lane::new(Owner::Cpu(0), &|_| String::new()) };
    assert_eq!(lane.others_in((0, 100), 4), [Some(1), Some(1), Some(2), Some(2)]);
    assert_eq!(lane.others_in((55, 70), 3), [None, None, None]);
    assert_eq!(lane.others_in((0, 1), 2), [Some(0), Some(0)], "more columns than time");
}
