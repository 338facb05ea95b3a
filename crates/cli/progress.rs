//! How far long work is, in words and as a bar: the same in the terminal's status line and on stderr.

use analysis::capture::Progress;
use indicatif::DecimalBytes;

/// `3 of 17 windows, 1.20 MB, 350 k blocks`; empty before anything is known.
pub(crate) fn words(progress: &Progress) -> String {
    let Progress { done, expected, bytes, expected_bytes, items } = *progress;
    let windows = (expected > 0).then(|| format!("{done} of {expected} windows"));
    let bytes = match (bytes, expected_bytes) {
        (0, 0) => None,
        (bytes, 0) => Some(DecimalBytes(bytes).to_string()),
        (bytes, expected) => Some(format!("{} of {}", DecimalBytes(bytes), DecimalBytes(expected))),
    };
    let blocks = (items > 0).then(|| format!("{} blocks", thousands(items)));
    [windows, bytes, blocks].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The part that is done as a bar of `columns`; `None` where it is not known.
pub(crate) fn bar(progress: &Progress, columns: usize) -> Option<String> {
    let filled = usize::from(progress.percent()?) * columns / 100;
    Some(format!("{}{}", "█".repeat(filled), "·".repeat(columns - filled)))
}

/// `950`, `12 k`, `3.4 M`.
fn thousands(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{} k", count / 1000),
        _ => format!("{}.{} M", count / 1_000_000, count / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests;
