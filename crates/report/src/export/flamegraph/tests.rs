//! Figures by hand: `main` calls `work`; the interval spends 30 ns in `main` itself and 70 in `work`, a typical one 30 and 10, and 5 in
//! `rest`, which this one never calls.

use model::CallLayer;

use super::{FlameView, export_flamegraph};
use crate::calls::{CallReport, CallTree};
use crate::outlier::OutlierReport;
use crate::report::Report;

fn node(parent: Option<usize>, name: &str, layer: CallLayer, own: u64, typical: u64) -> CallReport {
    let name = name.to_owned();
    CallReport {
        parent,
        name,
        layer,
        self_ns: own,
        typical_self_ns: typical,
        calls: 1,
        ..CallReport::default()
    }
}

fn report(name: &str) -> Report {
    let nodes = vec![
        node(None, "main", CallLayer::User, 30, 30),
        node(Some(0), name, CallLayer::Kernel, 70, 10),
        node(Some(0), "rest", CallLayer::User, 0, 5),
    ];
    let calls = CallTree { nodes, stretches: Vec::new() };
    let label = "order".to_owned();
    Report {
        outliers: vec![OutlierReport { id: 7, label, calls, ..OutlierReport::default() }],
        ..Report::default()
    }
}

/// The texts of the `<title>` elements, one per frame.
fn titles(view: FlameView, name: &str) -> Vec<String> {
    let svg = export_flamegraph(&report(name), view).expect("an SVG");
    let titles = svg.split("<title>").skip(1).filter_map(|rest| rest.split_once("</title>"));
    titles.map(|(title, _)| title.to_owned()).collect()
}

#[test]
fn each_view_has_its_own_times() {
    let mut own = titles(FlameView::Outlier, "work");
    own.sort();
    assert_eq!(
        own,
        ["all (100 ns, 100%)", "main (100 ns, 100.00%)", "order 7 (100 ns, 100.00%)", "work (70 ns, 70.00%)"]
    );
    let typical = titles(FlameView::Typical, "work");
    assert!(typical.contains(&"work (10 ns, 22.22%)".to_owned()), "{typical:?}");
    assert!(typical.contains(&"rest (5 ns, 11.11%)".to_owned()), "{typical:?}");
    let difference = titles(FlameView::Difference, "work");
    let work = difference.iter().find(|title| title.starts_with("work")).expect("work");
    assert_eq!(work, "work (70 ns, 70.00%; +60.00%)");
    assert!(!difference.iter().any(|title| title.starts_with("rest")), "it has no width: {difference:?}");
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    for view in [FlameView::Outlier, FlameView::Typical, FlameView::Difference] {
        assert_eq!(export_flamegraph(&report("work"), view), export_flamegraph(&report("work"), view));
    }
}

/// `]]>`, tags, a separator, a count, and a character that XML cannot hold.
#[test]
fn a_name_stays_one_frame_and_text() {
    let name = "<script>alert(1)</script>]]>;& 12\u{ffff} 34";
    for view in [FlameView::Outlier, FlameView::Typical, FlameView::Difference] {
        let svg = export_flamegraph(&report(name), view).expect("an SVG");
        assert_eq!(svg.matches("<script").count(), 1, "inferno's own");
        assert!(
            svg.contains("&lt;script&gt;alert(1)&lt;/script&gt;]]&gt;:&amp; 12\u{fffd}\u{a0}34 ("),
            "{svg}"
        );
    }
}

#[test]
fn nothing_to_draw_is_no_file() {
    assert_eq!(export_flamegraph(&Report::default(), FlameView::Outlier), None);
}
