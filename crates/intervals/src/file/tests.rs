use super::*;
use model::ThreadId;

fn read(text: &str) -> Result<IntervalSet, Error> {
    read_intervals(Path::new("test.csv"), text.as_bytes(), &Clocks::default())
}

#[test]
fn reads_vtunes_csv() {
    let set = read("name,start_tsc.TSC,end_tsc,pid,tid\nfault,1443401205,1443446385,118,120\nframe,5,9,,\n")
        .expect("readable");
    assert_eq!(set.diagnostics, []);
    assert_eq!(set.intervals[0].label, "frame");
    assert_eq!(set.intervals[0].start_thread, None);
    assert_eq!(set.intervals[1].id.0, 0);
    assert_eq!(set.intervals[1].start_thread, Some(ThreadId::new(118, 120)));
}
