//! Record counts against `perf report --stats`.

use model::Severity;
use tailtrace_perfdata::PerfData;

use crate::captures;

#[test]
fn counts_equal_perf_report_stats() {
    for capture in captures::all() {
        let stats = captures::perf(&["report", "--stats"], &capture);
        let expected = parse_stats(&stats);
        assert!(!expected.is_empty(), "{}: perf printed {stats}", capture.display());
        let perf_data = PerfData::open(&capture).expect("opens");
        assert_eq!(perf_data.record_counts(), expected, "{}", capture.display());
        let damage: Vec<_> =
            perf_data.diagnostics().iter().filter(|found| found.severity == Severity::Error).collect();
        assert!(damage.is_empty(), "{}: {damage:?}", capture.display());
    }
}

/// Lines like `  SWITCH_CPU_WIDE events:        152  (59.1%)` up to the counts of single events.
fn parse_stats(stats: &str) -> Vec<(String, u64)> {
    let aggregated = stats.lines().skip_while(|line| !line.starts_with("Aggregated stats"));
    let lines = aggregated.skip(1).take_while(|line| line.contains(" events:"));
    let counts = lines.filter_map(|line| {
        let (name, rest) = line.split_once(" events:")?;
        Some((name.trim().to_owned(), rest.split_whitespace().next()?.parse().ok()?))
    });
    counts.filter(|(name, _): &(String, u64)| name != "TOTAL").collect()
}
