//! Test that no string of a capture can do anything to a terminal, a Markdown page or a JSON reader.

mod reports;

use proptest::prelude::*;
use tailtrace_report::{
    OutlierReport, Report, Style, TimeUnit, export_csv, export_firefox, export_folded, export_perfetto,
    render_difference_html, render_difference_json, render_difference_markdown, render_difference_text,
    render_full_text, render_html, render_json, render_markdown, render_stat_json, render_stat_text,
    render_text,
};
use unicode_width::UnicodeWidthStr as _;

fn all_styles() -> Vec<Style> {
    let mut styles = Vec::new();
    for width in [0, 72, 80, 100, 160, 1_000] {
        for (color, unicode) in [(false, false), (false, true), (true, false), (true, true)] {
            styles.push(Style { width, color, unicode });
        }
    }
    styles
}

/// Without our own colours (`ESC [ digits ; m`, nothing else).
fn without_colors(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('m').expect("a colour ends in m");
        let digits = code.strip_prefix('[').expect("a colour begins with [");
        assert!(digits.chars().all(|c| c.is_ascii_digit() || c == ';'), "{code:?}");
        plain.push_str(rest);
    }
    plain
}

fn check_text(report: &Report) {
    for style in all_styles() {
        for text in
            [render_text(report, &style), render_full_text(report, &style), render_stat_text(report, &style)]
        {
            check_lines(&text, style);
        }
    }
}

fn check_lines(text: &str, style: Style) {
    assert!(style.color || !text.contains('\u{1b}'));
    let plain = without_colors(text);
    let bad = plain.chars().find(|&c| {
        c != '\n'
            && (c.is_control()
                || ('\u{200b}'..='\u{200f}').contains(&c)
                || ('\u{2028}'..='\u{202e}').contains(&c))
    });
    assert_eq!(bad, None);
    assert!(style.unicode || plain.is_ascii());
    let limit = style.width.clamp(72, 240);
    let is_command = |line: &str| line.starts_with("perf script") || line.starts_with("tailtrace explain -i");
    let wide = plain.lines().find(|line| !is_command(line) && line.width() > limit);
    assert_eq!(wide, None, "wider than {limit}");
}

/// The number of cells of a table's line, by GitHub's rule: a `|` counts unless an odd number of `\` stands before it.
fn cells(line: &str) -> usize {
    let bars = line.char_indices().filter(|&(at, c)| {
        c == '|' && line[..at].bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 0
    });
    bars.count().saturating_sub(1)
}

fn check_markdown(report: &Report) {
    check_ticket(&render_markdown(report));
}

fn check_ticket(markdown: &str) {
    assert!(markdown.lines().count() < 60, "{} lines", markdown.lines().count());
    assert!(markdown.starts_with("### "));
    assert!(!markdown.contains("](") && !markdown.contains("<script") && !markdown.contains('\t'));
    let mut expected = 0;
    let mut in_code = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        assert!(in_code || !line.contains(['<', '>']), "raw HTML in {line}");
        assert!(!line.starts_with(' '), "indented: {line}");
        expected = match (line.starts_with('|'), expected) {
            (false, _) => 0,
            (true, 0) => cells(line),
            (true, expected) => {
                assert_eq!(cells(line), expected, "{line}");
                expected
            }
        };
    }
    assert!(!in_code);
}

fn check_json(report: &Report) {
    check_document(&render_json(report));
    check_document(&render_stat_json(report));
}

fn check_document(document: &str) {
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(document);
    assert!(parsed.is_ok(), "{parsed:?}");
    assert!(!document.chars().any(|c| c != '\n' && c.is_control()));
}

/// Whatever the names, the same elements: markup is ours alone. Within the payload no tag can begin.
fn check_html(report: &Report) {
    check_page(&render_html(report));
}

fn check_page(page: &str) {
    assert!(!page.chars().any(|c| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c))));
    let (markup, scripts) = page.split_once("<script type=\"application/json\"").expect("a payload");
    let payload = scripts.split_once("</script>").expect("its end").0;
    assert!(!payload.contains('<') && !payload.contains('&'));
    let payload: serde_json::Value =
        serde_json::from_str(payload.split_once('>').expect("its begin").1).expect("JSON");
    assert!(payload["texts"].is_array());
    let body = markup.split_once("</style>").expect("a style sheet").1;
    for tag in body.split('<').skip(1) {
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next();
        assert!(KNOWN_TAGS.contains(&name.unwrap_or_default()), "<{tag}");
        let inside = tag.split_once('>').expect("every tag ends").0;
        let names: String = inside.split('"').step_by(2).collect();
        assert!(
            !names.contains(" on") && !names.contains(" style=") && !inside.contains("javascript:"),
            "<{tag}"
        );
    }
}

const KNOWN_TAGS: [&str; 43] = [
    "g",
    "details",
    "summary",
    "line",
    "text",
    "head",
    "body",
    "header",
    "main",
    "section",
    "p",
    "b",
    "i",
    "span",
    "h1",
    "h2",
    "h3",
    "div",
    "svg",
    "rect",
    "title",
    "path",
    "figure",
    "figcaption",
    "table",
    "thead",
    "tbody",
    "tfoot",
    "tr",
    "th",
    "td",
    "dl",
    "dt",
    "dd",
    "ul",
    "li",
    "pre",
    "code",
    "a",
    "html",
    "meta",
    "style",
    "script",
];

/// One line per stack, ending in a number; one record per segment, each of as many fields as the header has.
fn check_exports(report: &Report) {
    let folded = export_folded(report);
    for line in folded.lines() {
        let (stack, number) = line.rsplit_once(' ').expect("a number");
        assert!(number.parse::<u64>().is_ok() && stack.split(';').all(|frame| !frame.is_empty()), "{line}");
        assert!(!line.chars().any(char::is_control));
    }
    let table = export_csv(report);
    for line in table.lines() {
        assert_eq!(fields(line), 15, "{line}");
        assert!(!line.contains(",\"=") && !line.contains(",\"@"), "{line}");
    }
    let profile: Result<serde_json::Value, _> = serde_json::from_str(&export_firefox(report));
    assert!(profile.is_ok());
    assert_eq!(export_perfetto(report).is_empty(), report.outliers.is_empty());
}

/// How many fields a record has: commas within quotes do not count.
fn fields(record: &str) -> usize {
    record.split('"').step_by(2).map(|outside| outside.matches(',').count()).sum::<usize>() + 1
}

fn check(report: &Report) {
    check_text(report);
    check_markdown(report);
    check_json(report);
    check_html(report);
    check_exports(report);
}

#[test]
fn strings_of_a_stranger_stay_strings() {
    check(&reports::hostile());
    check(&reports::hostile_with_calls());
}

/// The same rules for two captures side by side.
#[test]
fn strings_of_two_strangers_stay_strings() {
    for difference in [reports::hostile_difference(), reports::difference()] {
        for style in all_styles() {
            check_lines(&render_difference_text(&difference, &style), style);
        }
        check_ticket(&render_difference_markdown(&difference));
        check_document(&render_difference_json(&difference));
        let page = render_difference_html(&difference);
        check_page(&page);
        assert!(page.len() < 2_000_000);
    }
}

#[test]
fn ordinary_reports_keep_the_same_rules() {
    for report in [
        reports::page_faults(),
        reports::lock_wait(),
        reports::several(),
        reports::bare(),
        reports::empty(),
        reports::two_modes(),
        reports::with_code(),
        reports::with_view(),
    ] {
        check(&report);
    }
}

/// Ten megabytes of a name do not make the formats that people read large.
#[test]
fn size_is_bounded() {
    let report = reports::hostile_with_calls();
    assert!(render_html(&report).len() < 2_000_000);
    assert!(render_html(&reports::twenty()).len() < 2_000_000);
    assert!(render_html(&reports::two_hundred()).len() < 4_000_000);
    assert!(render_markdown(&report).len() < 60_000);
    let style = Style { width: 100, color: true, unicode: true };
    assert!(render_text(&report, &style).len() < 100_000);
    assert!(render_full_text(&report, &style).len() < 400_000);
}

/// What a string is in JSON is what it was in the report.
#[test]
fn json_keeps_strings_exactly() {
    let document: serde_json::Value = serde_json::from_str(&render_json(&reports::hostile())).expect("JSON");
    let found: Vec<&str> = document["capture"]["pt_config"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|text| text.as_str().expect("a string"))
        .collect();
    let mut expected = reports::HOSTILE.to_vec();
    expected.rotate_left(6);
    assert_eq!(found, expected);
}

/// A report whose every count is beyond what any list shows.
#[test]
fn markdown_stays_short_whatever_the_counts() {
    let mut report = reports::hostile();
    let outlier = &mut report.outliers[0];
    for _ in 0..6 {
        outlier.causes.extend(outlier.causes.clone());
        outlier.segments.extend(outlier.segments.clone());
        outlier.checks.extend(outlier.checks.clone());
        outlier.counters.extend(outlier.counters.clone());
        outlier.stages.extend(outlier.stages.clone());
    }
    outlier.baselines = (0..10_000).collect();
    *outlier = outlier.clone().with_perf_script("/plain/perf.data");
    check(&report);
}

/// Numbers at the limits of their types, and sums that cannot be right: the renderers compute nothing that could
/// overflow, and lose no more than alignment.
#[test]
fn absurd_numbers_are_only_numbers() {
    for time_unit in [TimeUnit::Nanoseconds, TimeUnit::Ticks] {
        let mut report = reports::several();
        report.capture.time_unit = time_unit;
        report.capture.duration_ns = Some(u64::MAX);
        report.capture.trace_bytes = Some(u64::MAX);
        report.population.max_ns = u64::MAX;
        report.population.mean_ns = f64::INFINITY;
        report.population.stdev_ns = f64::NAN;
        report.population.histogram.iter_mut().for_each(|bin| (bin.to_ns, bin.count) = (0, u64::MAX));
        for (index, outlier) in report.outliers.iter_mut().enumerate() {
            outlier.time_unit = time_unit;
            outlier.start_ns = Some(u64::MAX);
            outlier.duration_ns = [u64::MAX, 1, 0][index];
            outlier.baseline_mean_ns = [None, Some(u64::MAX), Some(0)][index];
            for cause in &mut outlier.causes {
                (cause.duration_ns, cause.typical_ns, cause.count) = (u64::MAX, u64::MAX, u64::MAX);
                cause.excess_ns = [i64::MAX, i64::MIN, 0][index];
            }
            for segment in &mut outlier.segments {
                (segment.offset_ns, segment.duration_ns, segment.cpu) = (u64::MAX, u64::MAX, Some(u32::MAX));
                segment.edge_uncertainty_ns = u64::MAX;
            }
            *outlier = outlier.clone().with_perf_script("perf.data");
        }
        for style in all_styles() {
            assert!(!render_text(&report, &style).is_empty());
            assert!(!render_full_text(&report, &style).is_empty());
            assert!(!render_stat_text(&report, &style).is_empty());
        }
        check_markdown(&report);
        check_json(&report);
        check_html(&report);
        check_exports(&report);
    }
}

fn with_texts(texts: &[String]) -> Report {
    let mut report = reports::lock_wait();
    let mut texts = texts.iter().cycle().cloned();
    let mut next = || texts.next().unwrap_or_default();
    report.capture.hostname = Some(next());
    report.population.rule = next();
    report.selection.rule = next();
    let outlier: &mut OutlierReport = &mut report.outliers[0];
    outlier.label = next();
    outlier.key = Some(next());
    for cause in &mut outlier.causes {
        (cause.cause, cause.detail) = (next(), next());
    }
    for segment in &mut outlier.segments {
        (segment.cause, segment.detail) = (next(), next());
        segment.evidence.iter_mut().for_each(|evidence| evidence.text = next());
    }
    let path = next();
    *outlier = outlier.clone().with_perf_script(&path);
    outlier.server_requests = format!("tailtrace explain -i {}", next());
    report
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_string_stays_a_string(texts in proptest::collection::vec(any::<String>(), 1..6)) {
        check(&with_texts(&texts));
    }

    #[test]
    fn markup_stays_text(texts in proptest::collection::vec("[|`<>\\[\\]()\\\\*_~#:/@.w1 \n\t-]{0,40}", 1..6)) {
        check(&with_texts(&texts));
    }
}
