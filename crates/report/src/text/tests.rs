use super::*;

#[test]
fn columns_are_bounded() {
    let columns = |width| Style { width, color: false, unicode: true }.columns();
    assert_eq!([columns(0), columns(80), columns(usize::MAX)], [72, 80, 240]);
}

#[test]
fn an_empty_report_is_text_too() {
    let style = Style { width: 80, color: true, unicode: true };
    assert!(render_text(&Report::default(), &style).contains("no interval"));
    assert!(render_stat_text(&Report::default(), &style).contains("intervals"));
}

/// In every format, with the population.
#[test]
fn lost_markers_stand_with_the_population() {
    let lost_markers = Some(crate::LostMarkers { lost: 704_268, made: 2_000_000 });
    let population =
        crate::PopulationSummary { count: 1, lost_markers, ..crate::PopulationSummary::default() };
    let report = Report { population, ..Report::default() };
    let style = Style { width: 160, color: false, unicode: true };
    let sentence = "704,268 of 2,000,000 markers were lost: percentiles are of the survivors";
    for text in [
        render_text(&report, &style),
        render_stat_text(&report, &style),
        crate::render_markdown(&report),
        crate::render_html(&report),
    ] {
        assert!(text.contains(sentence), "{text}");
    }
    let none = Report::default();
    assert!(!render_stat_text(&none, &style).contains("lost"));
    let json: serde_json::Value = serde_json::from_str(&crate::render_stat_json(&report)).expect("JSON");
    assert_eq!(json["population"]["lost_markers"], serde_json::json!({"lost": 704_268, "made": 2_000_000}));
    let json: serde_json::Value = serde_json::from_str(&crate::render_stat_json(&none)).expect("JSON");
    assert!(json["population"]["lost_markers"].is_null());
}

/// In every format, with the population: what slices do not hold is not forgotten.
#[test]
fn skipped_intervals_stand_with_the_population() {
    let limit = |label: Option<&str>, over_ns| crate::SlowLimit {
        label: label.map(str::to_owned),
        over_ns: Some(over_ns),
        percentile: None,
    };
    let snapshots = crate::Snapshots {
        is_complete: true,
        is_part: false,
        limits: vec![limit(Some("order"), 200_000), limit(None, 1_000_000)],
        intervals: 30_000,
        slow: 1_053,
        kept: 50,
        skipped: crate::SkippedIntervals { rate_limit: 1_000, ring_overwritten: 3, ..Default::default() },
    };
    let style = Style { width: 200, color: false, unicode: true };
    let texts = |snapshots: crate::Snapshots| {
        let snapshots = Some(snapshots);
        let population =
            crate::PopulationSummary { count: 1, snapshots, ..crate::PopulationSummary::default() };
        let report = Report { population, ..Report::default() };
        let text = [render_text(&report, &style), render_stat_text(&report, &style)];
        [&text[..], &[crate::render_markdown(&report), crate::render_html(&report)]].concat()
    };
    let sentence = "1,003 of 1,053 slow intervals (order over 200.0 us, over 1.00 ms) were skipped (rate limit: 1,000, ring \
                    overwritten: 3)";
    for text in texts(snapshots.clone()) {
        assert!(text.contains(sentence), "{text}");
    }
    for text in texts(crate::Snapshots { is_part: true, ..snapshots.clone() }) {
        assert!(text.contains(&format!("since the bundle before this one {sentence}")), "{text}");
    }
    let none = crate::SkippedIntervals::default();
    for text in texts(crate::Snapshots { skipped: none, ..snapshots.clone() }) {
        assert!(!text.contains("skipped"), "{text}");
    }
    for text in texts(crate::Snapshots { is_complete: false, ..snapshots }) {
        assert!(text.contains("how many were skipped is not known"), "{text}");
    }
}

/// An interrupt is no thread; and who had the thread that an interval queued for ended no wait.
#[test]
fn it_is_said_whose_time_passed_meanwhile() {
    let part = |cause: &str, tid: Option<i32>, during: Vec<crate::SegmentReport>| crate::SegmentReport {
        ticks: 0,
        offset_ns: 0,
        duration_ns: 1000,
        cpu: None,
        tid,
        cause: cause.to_owned(),
        certainty: model::Certainty::Measured,
        detail: String::new(),
        story: model::Story::default(),
        edge_uncertainty_ns: 0,
        during,
        serving: Vec::new(),
        evidence: Vec::new(),
    };
    for (cause, tid, expected) in [
        ("offcpu.lock", Some(7), "during this time, the thread that ended the wait (tid 7):"),
        ("offcpu.block-io", None, "during this time, what ended the wait:"),
        ("queue.behind", Some(7), "during this time, the thread that was busy (tid 7):"),
        ("queue.runtime", Some(7), "during this time, the worker that polled it then (tid 7):"),
    ] {
        let segments = vec![part(cause, Some(8), vec![part("kernel.timer", tid, Vec::new())])];
        let outlier = OutlierReport { segments, duration_ns: 1000, ..OutlierReport::default() };
        let report = Report { outliers: vec![outlier], ..Report::default() };
        let text = render_text(&report, &Style { width: 80, color: false, unicode: true });
        assert!(text.contains(expected), "{text}");
    }
}

/// `exec` names the thread anew; two threads hand the work over.
#[test]
fn a_thread_under_two_names_is_one() {
    let thread = |tid: i32, comm: &str| Some(crate::ThreadName { pid: 5, tid, comm: comm.to_owned() });
    let named = |start_thread, stop_thread| {
        let outlier = OutlierReport { start_thread, stop_thread, ..OutlierReport::default() };
        let report = Report { outliers: vec![outlier], ..Report::default() };
        let text = render_text(&report, &Style { width: 80, color: false, unicode: true });
        [text, crate::render_markdown(&report)]
    };
    for said in named(thread(6, "sh"), thread(6, "loop")) {
        assert!(said.contains("loop (pid 5, tid 6)") && !said.contains("from "), "{said}");
    }
    for said in named(thread(6, "sh"), thread(7, "loop")) {
        assert!(said.contains("from sh (pid 5, tid 6)"), "{said}");
    }
}
