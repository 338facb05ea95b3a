use super::*;

#[test]
fn a_plain_command_stands_in_a_code_block() {
    assert_eq!(command("perf script -i 'a b'"), ["", "```sh", "perf script -i 'a b'", "```"]);
    assert_eq!(command(""), Vec::<String>::new());
}

#[test]
fn a_command_that_could_break_out_does_not() {
    for (line, shown) in [
        ("perf script -i '```'", r"perf script -i '\`\`\`'"),
        ("perf script -i '<b>'", "perf script -i '&lt;b&gt;'"),
        ("perf script -i 'a](b'", r"perf script -i 'a\]\(b'"),
        ("perf script -i 'a\nb'", r"perf script -i 'a\\nb'"),
    ] {
        assert_eq!(command(line), ["", shown]);
    }
    assert_eq!(command(&"x".repeat(2_000))[1].chars().count(), 401);
}

#[test]
fn tables_align_figures_right() {
    assert_eq!(table(&["for:", "cause"]), ["", "| for | cause |", "| ---: | --- |"]);
}

#[test]
fn the_headline_comes_first() {
    let mut report = Report::default();
    assert!(render_markdown(&report).starts_with("### No interval was selected\n"));
    report.outliers = vec![OutlierReport { duration_ns: 412_300, ..OutlierReport::default() }];
    assert!(render_markdown(&report).starts_with("### 412.3 us, "));
}

#[test]
fn notes_are_left_out_and_warnings_counted() {
    let mut report = Report::default();
    report.diagnostics.push(model::Diagnostic::note("a note"));
    report.diagnostics.extend((0..5).map(|n| model::Diagnostic::warning(format!("w{n}"))));
    report.diagnostics.push(model::Diagnostic::error("worst"));
    let lines = diagnostics(&report);
    assert_eq!(lines, ["", "- error: worst", "- warning: w0", "- warning: w1", "- 3 more warnings"]);
}
