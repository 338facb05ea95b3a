//! What was expected and what was measured, after the result.

use std::io::{self, Write as _};

use report::{Expected, expectation_lines};

use super::{Outcome, print_result};

/// Prints a line for each of `expected`: on stdout after a text, on stderr where stdout is a document for programs. The outcome, where
/// one is not met.
///
/// # Errors
/// As [`super::print_result`].
pub(crate) fn print_expected(expected: &[Expected], is_text: bool) -> io::Result<Option<Outcome>> {
    let lines = expectation_lines(expected);
    if is_text && !lines.is_empty() {
        print_result(&format!("\n{}", lines.join("\n")))?;
    } else {
        let mut stderr = io::stderr().lock();
        // Nothing can be done where stderr is closed.
        let _ = lines.iter().try_for_each(|line| writeln!(stderr, "{line}"));
    }
    Ok(expected.iter().any(|one| !one.is_met).then_some(Outcome::NotMet))
}
