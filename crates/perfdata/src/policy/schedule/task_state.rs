//! What `prev_state` of `sched:sched_switch` means.
//!
//! The bits changed with Linux 4.14, so they are taken from the format's own `__print_flags` table.

use crate::policy::schedule::LeaveReason;
use crate::tracepoint::TracepointFormat;

/// Letters since Linux 4.14 (`include/linux/sched.h`, `task_index_to_char`), for a format without a table.
const LETTERS: [(u64, char); 8] =
    [(1, 'S'), (2, 'D'), (4, 'T'), (8, 't'), (0x10, 'X'), (0x20, 'Z'), (0x40, 'P'), (0x80, 'I')];

/// The letters of the state bits, lowest bit first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskStates(Vec<(u64, char)>);

impl TaskStates {
    pub(super) fn of(format: &TracepointFormat) -> TaskStates {
        let mut letters = parse_table(format.print_format());
        if letters.is_empty() {
            letters = LETTERS.to_vec();
        }
        letters.sort_unstable();
        TaskStates(letters)
    }

    /// Why a thread with this state left its CPU. R and R+ (a bit that is not in the table) were taken off it.
    pub(super) fn leave_reason(&self, state: u64) -> LeaveReason {
        match self.0.iter().find(|(bit, _)| state & bit != 0).map(|&(_, letter)| letter) {
            None => LeaveReason::Preempted,
            Some('X' | 'x' | 'Z') => LeaveReason::Exited,
            letter => LeaveReason::Slept(letter),
        }
    }
}

/// The pairs `{ 0x00000001, "S" }` or `{ 1, "S" }` of a print format.
fn parse_table(print_format: &str) -> Vec<(u64, char)> {
    let pairs = print_format.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    pairs
        .filter_map(|(pair, _)| {
            let (bit, letter) = pair.split_once(',')?;
            let bit = bit.trim();
            let bit = match bit.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok()?,
                None => bit.parse().ok()?,
            };
            let mut letters = letter.trim().trim_matches('"').chars();
            let letter = letters.next()?;
            (bit != 0 && letter.is_ascii_alphabetic() && letter != 'R').then_some((bit, letter))
        })
        .collect()
}

#[cfg(test)]
mod tests;
