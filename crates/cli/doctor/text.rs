//! The findings as text: the worst first, each with what follows from it and the command that mends it.

use report::{Style, for_terminal, wrap};

use super::finding::{Finding, Level};

/// Columns before a finding's text.
const INDENT: usize = 22;

/// The page.
pub(crate) fn render(findings: &[Finding], command: &str, style: Style) -> String {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    // Within a level they keep the order of the checks.
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    let mut page = headline(findings);
    page.push_str("\n\n");
    for finding in sorted {
        for line in lines(finding, style.width.clamp(60, 240)) {
            page.push_str(line.trim_end());
            page.push('\n');
        }
    }
    page + "\nrecord would run: " + &for_terminal(command) + "\n"
}

/// One sentence for all of them.
fn headline(findings: &[Finding]) -> String {
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count() as u64;
    let rest = format!(
        "{} and {}",
        report::counted(count(Level::Warning), "warning"),
        report::counted(count(Level::Note), "note")
    );
    match count(Level::Stops) {
        0 => format!("Nothing stops a recording; {rest}."),
        stops => {
            let checks = report::counted(stops, "finding");
            let verb = if stops == 1 { "stops" } else { "stop" };
            format!("{checks} {verb} a recording; {rest}.")
        }
    }
}

fn lines(finding: &Finding, width: usize) -> Vec<String> {
    let level = match finding.level {
        Level::Fine => "fine",
        Level::Note => "note",
        Level::Warning => "warning",
        Level::Stops => "STOPS",
    };
    let columns = width - INDENT;
    let mut lines = Vec::new();
    let mut label = format!("{level:8}{:14}", finding.check);
    let means = finding.means.as_ref().map(|means| format!("{means}."));
    let text = [Some(&finding.found), means.as_ref()];
    for line in text.into_iter().flatten().flat_map(|text| wrap(&for_terminal(text), columns)) {
        lines.push(format!("{label}{line}"));
        label = " ".repeat(INDENT);
    }
    // Commands are pasted: they are not wrapped.
    lines.extend(finding.mend.iter().map(|command| format!("{label}  {}", for_terminal(command))));
    lines
}
