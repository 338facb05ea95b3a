//! Span files: OTLP JSON (OpenTelemetry) and trace events (Chrome), recognised by their content.
//!
//! Input: a byte stream that begins with `{` or `[`. Output: an interval for each span, in the file's clock, with the link
//! to its parent. One span at a time is in memory, so that a file of gigabytes costs what its intervals cost.
//! Sources: opentelemetry-proto `trace.proto` and "OTLP/JSON" in the OTLP specification; "Trace Event Format" (Chrome).

mod documents;
mod keeping;
mod numbers;
mod otlp;
mod place;
mod trace_events;
mod visits;

pub(super) use documents::read;

/// Whether a file with this first line holds spans.
pub(super) fn begin_with(first: &[u8]) -> bool {
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first).trim_ascii_start();
    let is_ours = || memchr::memmem::find(text, b"\"tailtrace-intervals\"").is_some();
    matches!(text.first(), Some(b'[')) || (matches!(text.first(), Some(b'{')) && !is_ours())
}

#[cfg(test)]
mod tests;
