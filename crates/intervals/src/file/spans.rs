//! Span files: OTLP JSON (OpenTelemetry), trace events (Chrome), Perfetto traces, JFR
//! recordings, Go's execution traces and traces in the Common Trace Format, recognised by their content.
//!
//! Input: a byte stream that begins with `{` or `[`, or is binary. Output: an interval for each span, in the file's clock, with the link
//! to its parent. One span at a time is in memory, so that a file of gigabytes costs what its intervals cost.
//! Sources: opentelemetry-proto `trace.proto` and "OTLP/JSON" in the OTLP specification; "Trace Event Format" (Chrome).

mod ctf;
mod documents;
mod go_trace;
mod jfr;
mod keeping;
mod numbers;
mod otlp;
mod perfetto;
mod place;
mod stream;
mod trace_events;
mod visits;

use std::io::{self, BufRead};

use super::draft::Draft;

pub(super) use ctf::read_folder;

/// Reads all spans into `draft`; the outer error is the file's, the inner one says why it holds no spans.
///
/// # Errors
/// Where the file cannot be read.
pub(super) fn read(mut reader: impl BufRead, draft: &mut Draft) -> io::Result<Result<(), String>> {
    let beginning = reader.fill_buf()?;
    if ctf::begin_with(beginning) {
        ctf::read(reader, draft)
    } else if go_trace::begin_with(beginning) {
        go_trace::read(reader, draft)
    } else if jfr::begin_with(beginning) {
        jfr::read(reader, draft)
    } else if perfetto::begin_with(beginning) {
        perfetto::read(reader, draft)
    } else {
        documents::read(reader, draft)
    }
}

/// Whether a file with these first bytes holds spans in a binary form.
pub(super) fn are_binary(bytes: &[u8]) -> bool {
    ctf::begin_with(bytes)
        || go_trace::begin_with(bytes)
        || jfr::begin_with(bytes)
        || perfetto::begin_with(bytes)
}

/// Whether a file with this first line holds spans.
pub(super) fn begin_with(first: &[u8]) -> bool {
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first).trim_ascii_start();
    let is_ours = || memchr::memmem::find(text, b"\"tailtrace-intervals\"").is_some();
    matches!(text.first(), Some(b'[')) || (matches!(text.first(), Some(b'{')) && !is_ours())
}

#[cfg(test)]
mod tests;
