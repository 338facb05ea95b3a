//! Tracepoints: the formats of their payloads as the recorded kernel described them.

mod field;
mod format;
mod tracing_data;

use crate::attr::Attr;

pub use field::{FieldValue, TracepointField};
pub use format::TracepointFormat;
pub(crate) use tracing_data::{Formats, parse as parse_tracing_data};

/// Gives tracepoints that have no name the one of their format.
pub(crate) fn name_attrs(attrs: &mut [Attr], formats: &Formats) {
    for attr in attrs.iter_mut().filter(|attr| attr.is_tracepoint() && attr.name.is_none()) {
        attr.name = formats.by_id(attr.config).map(|format| format.name().to_owned());
    }
}

/// Entry of the fuzzer: both parsers on any bytes.
#[doc(hidden)]
pub fn fuzz_formats(bytes: &[u8]) {
    if let Some(format) = TracepointFormat::parse("fuzz", bytes) {
        for field in format.fields() {
            let _ = field.value(bytes);
        }
    }
    parse_tracing_data(bytes, 0, &mut Vec::new());
}

#[cfg(test)]
mod tests;
