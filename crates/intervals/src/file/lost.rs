//! `# lost 5 marks of tid 120 at=… until=…`: markers that the program made and the file does not hold.
//!
//! Without the times, as older versions of `tailtrace.h` wrote it, they were lost after the last marker of the thread
//! that stands before the line.

use model::{Tid, Tsc};

use super::cells::unsigned;
use super::draft::Draft;
use crate::pairing::Loss;

/// Takes the words after `lost`.
pub(super) fn keep<'a>(mut words: impl Iterator<Item = &'a str>, draft: &mut Draft, line: u64) {
    let Some(count) = words.next().and_then(|word| unsigned(word.as_bytes())) else {
        let what = "how many markers were lost is no number: the line is left out".to_owned();
        return draft.refuse(line, "wrong losses", what);
    };
    draft.losses.noted(count);
    let words: Vec<&str> = words.take(16).collect();
    let after = |name| words.iter().skip_while(|word| **word != name).nth(1);
    let tid = after("tid").and_then(|word| unsigned(word.trim_end_matches(':').as_bytes()));
    let thread = tid.and_then(|tid| i32::try_from(tid).ok()).and_then(|tid| draft.context.thread(Tid(tid)));
    let time = |name| {
        let value = words.iter().find_map(|word| word.strip_prefix(name));
        value.and_then(|value| unsigned(value.as_bytes())).map(Tsc)
    };
    let first = time("at=").or_else(|| draft.context.last_mark(Some(thread?)));
    // Of a thread without any marker nothing is open.
    if let (Some(first), true) = (first, thread.is_some() || tid.is_none()) {
        draft.lost_between(Loss { thread, first, last: time("until=").unwrap_or(first).max(first) });
    }
}
