//! Every format of every report made by hand, against files in `tests/golden/`.
//!
//! `TAILTRACE_BLESS=1 cargo test -p tailtrace-report` writes them anew; read the difference before committing it.

mod reports;

use std::path::PathBuf;

use tailtrace_report::{
    Report, Style, export_csv, export_folded, render_difference_json, render_difference_markdown,
    render_difference_text, render_full_text, render_html, render_json, render_markdown, render_stat_json,
    render_stat_text, render_text,
};

/// Compares `found` with the golden file `name`, or writes it.
fn check(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("TAILTRACE_BLESS").is_some() {
        std::fs::write(&path, found).expect("golden file is writable");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == found, "{name} differs; found:\n{found}");
}

fn plain(width: usize) -> Style {
    Style { width, color: false, unicode: true }
}

fn check_text(name: &str, report: &Report) {
    for width in [80, 100, 160] {
        check(&format!("{name}-{width}.txt"), &render_text(report, &plain(width)));
    }
}

#[test]
fn page_faults() {
    let report = reports::page_faults();
    check_text("page-faults", &report);
    check("page-faults.md", &render_markdown(&report));
    check("page-faults.json", &render_json(&report));
    let color = Style { width: 100, color: true, unicode: true };
    check("page-faults-color.txt", &render_text(&report, &color));
    let ascii = Style { width: 100, color: false, unicode: false };
    check("page-faults-ascii.txt", &render_text(&report, &ascii));
}

#[test]
fn lock_wait() {
    let report = reports::lock_wait();
    check_text("lock-wait", &report);
    check("lock-wait.md", &render_markdown(&report));
    check("lock-wait.json", &render_json(&report));
}

/// Three segments at 44 ms, the second a nanosecond after the first: three or four digits would show one time.
#[test]
fn offsets_show_the_digits_that_distinguish_them() {
    let mut report = reports::page_faults();
    let segments = &mut report.outliers[0].segments;
    segments.truncate(3);
    for (segment, offset) in segments.iter_mut().zip([44_012_345, 44_012_346, 44_112_000]) {
        (segment.offset_ns, segment.duration_ns) = (offset, 500);
    }
    assert_eq!(segments.len(), 3);
    for text in [render_full_text(&report, &plain(100)), render_markdown(&report), render_html(&report)] {
        for offset in ["44.012345 ms", "44.012346 ms", "44.112000 ms"] {
            assert!(text.contains(offset), "{offset}: {text}");
        }
    }
}

/// Medians that differ by less than three digits show.
#[test]
fn a_difference_shows_the_digits_that_distinguish_its_sides() {
    let mut difference = reports::difference();
    let change = difference.change.as_mut().expect("durations differ");
    (change.quantiles[0].a_ns, change.quantiles[0].b_ns) = (44_012_345, 44_012_399);
    for text in [render_difference_text(&difference, &plain(100)), render_difference_markdown(&difference)] {
        for median in ["44.0123 ms", "44.0124 ms"] {
            assert!(text.contains(median), "{median}: {text}");
        }
    }
}

#[test]
fn several() {
    let report = reports::several();
    check_text("several", &report);
    check("several-full-100.txt", &render_full_text(&report, &plain(100)));
    check("several.md", &render_markdown(&report));
}

#[test]
fn view() {
    let report = reports::with_view();
    check("view-100.txt", &render_text(&report, &plain(100)));
    check("view-full-100.txt", &render_full_text(&report, &plain(100)));
    check("view.md", &render_markdown(&report));
}

/// Whatever the width, a statement stands there word by word: wrapped, never cut. What is expected is spelled out by hand
/// from the figures of the report.
#[test]
fn statements_are_wrapped_and_not_cut() {
    let mut report = reports::with_view();
    let neighbours = "on its CPU while it was off: comp-cfs (tid 122) for 1.095 ms; on the SMT sibling swap (tid 9) for \
                      12.0 us, kworker/1:2 (tid 77) for 3.00 us, ksoftirqd/1 (tid 16) for 1.00 us and 4 more";
    report.outliers[0].checks[0].detail = neighbours.to_owned();
    let expected = [
        "slow when send_bytes < 1448: 11 of 12 slow ones, 3 of 5980 fast ones, p < 0.001; rank correlation -0.08 (-0.10 \
         to -0.05), p < 0.001",
        "254:16 read: 912, p50 90.0 us, p99 600.0 us, longest 600.0 us; two modes: 900 up to 200.0 us, 12 longer; waited \
         for 5 % of all intervals' time",
        "5 % of all intervals' time waiting for block devices: 10 % of the slow ones', 0 % of the fast ones', by their own threads; 2 % by threads that they waited for",
        "offcpu.lock on futex 0x7ffd0010 of pid 410: slow 3, p50 1.00 ms, p99 1.02 ms, longest 1.02 ms (83 % of their \
         time); fast 40, p50 12.0 us, p99 12.0 us, longest 12.0 us (<1 % of their time)",
        neighbours,
    ];
    for width in [72, 80, 100, 160] {
        let text = render_full_text(&report, &plain(width));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for statement in expected {
            assert!(words.contains(statement), "{width} columns: no `{statement}` in\n{text}");
        }
    }
    let text = render_stat_text(&report, &plain(80));
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(expected[0]), "{text}");
}

#[test]
fn difference() {
    let difference = reports::difference();
    check("difference-100.txt", &render_difference_text(&difference, &plain(100)));
    check("difference.md", &render_difference_markdown(&difference));
    check("difference.json", &render_difference_json(&difference));
}

#[test]
fn bare() {
    let report = reports::bare();
    check_text("bare", &report);
    check("bare.md", &render_markdown(&report));
    check("bare.json", &render_json(&report));
    check("bare-stat.txt", &render_stat_text(&report, &plain(80)));
}

#[test]
fn empty() {
    let report = reports::empty();
    check("empty.txt", &render_text(&report, &plain(100)));
    check("empty.md", &render_markdown(&report));
    check("empty.json", &render_json(&report));
    check("empty-stat.txt", &render_stat_text(&report, &plain(100)));
    check("empty-stat.json", &render_stat_json(&report));
}

#[test]
fn two_modes() {
    let report = reports::two_modes();
    for width in [80, 100] {
        check(&format!("two-modes-{width}.txt"), &render_stat_text(&report, &plain(width)));
    }
    check("two-modes.md", &render_markdown(&report));
    check("two-modes.json", &render_stat_json(&report));
}

#[test]
fn tables_for_other_tools() {
    check("with-calls.folded", &export_folded(&reports::with_calls()));
    check("lock-wait.folded", &export_folded(&reports::lock_wait()));
    check("lock-wait.csv", &export_csv(&reports::lock_wait()));
}
