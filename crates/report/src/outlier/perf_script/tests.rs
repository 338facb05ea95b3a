use super::*;

#[test]
fn quotes_for_a_shell() {
    for (path, quoted) in [
        ("perf.data", "perf.data"),
        ("/tmp/a b/perf.data", "'/tmp/a b/perf.data'"),
        ("it's", r"'it'\''s'"),
        ("$(reboot)", "'$(reboot)'"),
        ("a;b", "'a;b'"),
        ("-x", "./-x"),
        ("-x y", "./'-x y'"),
        ("", "''"),
    ] {
        assert_eq!(shell_quoted(path), quoted);
    }
}

#[test]
fn the_range_covers_the_interval_and_its_cpus() {
    let segment = |cpu| SegmentReport {
        ticks: 0,
        offset_ns: 0,
        duration_ns: 1,
        cpu,
        tid: None,
        cause: "unexplained".to_owned(),
        certainty: model::Certainty::Unknown,
        detail: String::new(),
        story: model::Story::default(),
        edge_uncertainty_ns: 0,
        during: Vec::new(),
        serving: Vec::new(),
        evidence: Vec::new(),
    };
    let outlier = OutlierReport {
        start_ns: Some(7_002_363_887_524_638),
        duration_ns: 412_300,
        segments: [Some(3), None, Some(1), Some(3)].map(segment).into(),
        ..OutlierReport::default()
    };
    assert_eq!(
        outlier.with_perf_script("perf.data").perf_script,
        "perf script -i perf.data --time 7002363.887524638,7002363.887936939 -C 1,3 --itrace=be --ns"
    );
}

#[test]
fn options_are_quoted_too() {
    let outlier = OutlierReport { start_ns: Some(1), ..OutlierReport::default() };
    let line = outlier.with_perf_script("perf.data").with_option("--symfs", "my files").perf_script;
    assert_eq!(
        line,
        "perf script -i perf.data --time 0.000000001,0.000000002 --itrace=be --ns --symfs 'my files'"
    );
}

#[test]
fn no_line_without_a_joined_clock() {
    let outlier = OutlierReport::default().with_perf_script("perf.data");
    assert_eq!(outlier.with_option("--symfs", "x").perf_script, "");
}
