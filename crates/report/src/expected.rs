//! What was expected of a population and what was measured, for people and for continuous integration.

use std::fmt::Write as _;

use crate::escape::{for_html, for_terminal};

/// One expectation and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// As the user wrote it: `p99 < 200us`.
    pub expectation: String,
    /// Whether it is met; not where nothing could be measured.
    pub is_met: bool,
    /// What was measured, with its confidence interval, or why nothing was.
    pub measured: String,
}

/// A line each: `not met  p99 < 200us: 210 us, 95 % confidence 204 us to 215 us`.
pub fn expectation_lines(expected: &[Expected]) -> Vec<String> {
    let line = |one: &Expected| {
        let verdict = if one.is_met { "met    " } else { "not met" };
        for_terminal(&format!("{verdict}  {}: {}", one.expectation, one.measured))
    };
    expected.iter().map(line).collect()
}

/// A test suite of the name `suite` with a test for each, in the XML of `JUnit` that Jenkins, GitLab and GitHub's actions read.
pub fn render_junit(suite: &str, expected: &[Expected]) -> String {
    let suite = for_html(suite);
    let failures = expected.iter().filter(|one| !one.is_met).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n\
         <testsuite name=\"{suite}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">\n",
        expected.len()
    );
    for one in expected {
        let (name, measured) = (for_html(&one.expectation), for_html(&one.measured));
        let outcome = if one.is_met {
            format!("<system-out>{measured}</system-out>")
        } else {
            format!("<failure message=\"{measured}\" type=\"expectation\">{name}: {measured}</failure>")
        };
        // Writing to memory does not fail.
        let _ = writeln!(text, "<testcase classname=\"{suite}\" name=\"{name}\">{outcome}</testcase>");
    }
    text.push_str("</testsuite>\n</testsuites>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(is_met: bool) -> Expected {
        Expected { expectation: "p99 < 5us".to_owned(), is_met, measured: "4 us \u{1b}\"".to_owned() }
    }

    #[test]
    fn lines_say_what_was_measured() {
        let lines = expectation_lines(&[one(true), one(false)]);
        assert_eq!(lines, ["met      p99 < 5us: 4 us \\u{1b}\"", "not met  p99 < 5us: 4 us \\u{1b}\""]);
    }

    #[test]
    fn a_test_suite_counts_failures_and_escapes() {
        let text = render_junit("a<b", &[one(true), one(false)]);
        assert!(text.contains("<testsuite name=\"a&lt;b\" tests=\"2\" failures=\"1\""), "{text}");
        assert!(text.contains("name=\"p99 &lt; 5us\"><failure message=\"4 us \\u{1b}&quot;\""), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
