//! How large perf's buffers are, by the words of its command.
//!
//! Input: the command. Output: bytes for each CPU. Source: perf-record(1), `-m`; `perf_evlist__parse_mmap_pages`, which rounds up to a power
//! of two of pages, and `intel_pt_recording_options` (4 MiB of trace where no size is named) in tools/perf.

use std::ffi::OsString;

use super::command::BUFFERS_MIB;

const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;
/// Of the trace where only the records' size is named.
const UNNAMED_TRACE: u64 = 4 * MIB;

/// The buffers of one CPU, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffers {
    pub(crate) records: u64,
    /// 0: no trace is recorded.
    pub(crate) trace: u64,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers { records: BUFFERS_MIB.0 * MIB, trace: BUFFERS_MIB.1 * MIB }
    }
}

impl Buffers {
    /// Those of perf's command; `None` where it does not take the sizes. The last `-m` counts.
    pub(crate) fn of(command: &[OsString]) -> Option<Buffers> {
        let own = command.split(|word| word == "--").next().unwrap_or_default();
        let at = own.iter().rposition(|word| word == "-m")?;
        let text = own.get(at + 1)?.to_string_lossy().into_owned();
        let has_trace = own.iter().any(|word| word.to_string_lossy().contains("intel_pt/"));
        let (records, trace) = text.split_once(',').unwrap_or((&text, ""));
        let trace = if trace.is_empty() { UNNAMED_TRACE } else { bytes(trace)? };
        Some(Buffers { records: bytes(records)?, trace: if has_trace { trace } else { 0 } })
    }

    /// Of both together.
    pub(crate) fn for_cpu(self) -> u64 {
        self.records.saturating_add(self.trace)
    }
}

/// `8M`, or a number of pages.
fn bytes(text: &str) -> Option<u64> {
    let unit = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let factor = match &text[unit..] {
        "" => PAGE,
        "B" => 1,
        "K" => 1 << 10,
        "M" => MIB,
        "G" => 1 << 30,
        _ => return None,
    };
    let pages = text[..unit].parse::<u64>().ok()?.checked_mul(factor)?.div_ceil(PAGE);
    pages.checked_next_power_of_two().filter(|_| pages > 0)?.checked_mul(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(u64, u64)> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Buffers::of(&words).map(|buffers| (buffers.records, buffers.trace))
    }

    #[test]
    fn the_last_sizes_count() {
        assert_eq!(
            of("perf record -m 8M,64M -e intel_pt/cyc=1/ -m 16M,1G -- a -m 1"),
            Some((16 << 20, 1 << 30))
        );
        assert_eq!(of("perf record -m 8M -e cycles"), Some((8 << 20, 0)));
        assert_eq!(
            of("perf record -e intel_pt// -m 300K"),
            Some((512 << 10, 4 << 20)),
            "a power of two of pages"
        );
        assert_eq!(of("perf record -e intel_pt// -m 512,1"), Some((2 << 20, 4096)), "pages");
    }

    #[test]
    fn what_is_no_size_is_none() {
        for line in [
            "perf record",
            "perf record -m",
            "-m 8Q",
            "-m x",
            "-m 0",
            "-m 8M,y -e intel_pt//",
            "-m 99999999999G",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
