//! Which span each thread works for, by samples of an event with a field of the span's id.

use std::collections::HashMap;

use model::TimeConversion;
use perfdata::{FieldValue, PerfData, Record, TracepointFormat};

use crate::file::SpanContext;

/// The field that holds the id.
const FIELD: &str = "span_id";
const DIGITS: usize = 16;

/// What samples of events with the field `span_id` say: since when which thread works for which span, or for none (0). The field is a
/// number, the id's eight bytes, or its sixteen digits as a text.
pub fn span_contexts(capture: &PerfData, conversion: Option<TimeConversion>) -> Vec<SpanContext> {
    let Some(conversion) = conversion else { return Vec::new() };
    let mut has_field = HashMap::new();
    let context = |record: perfdata::TimedRecord<'_>| {
        let Record::Sample(sample) = &record.record else { return None };
        let (format, raw) = (sample.format()?, sample.raw()?);
        if !*has_field.entry(format.id()).or_insert_with(|| format.field(FIELD).is_some()) {
            return None;
        }
        let at = conversion.to_tsc(record.time?);
        Some(SpanContext { at, thread: record.thread?, span: span(format, raw)? })
    };
    capture.records().filter_map(context).collect()
}

fn span(format: &TracepointFormat, raw: &[u8]) -> Option<u64> {
    Some(match format.field(FIELD)?.value(raw)? {
        FieldValue::Unsigned(value) => value,
        FieldValue::Signed(value) => value.cast_unsigned(),
        FieldValue::Bytes(bytes) | FieldValue::Text(bytes) => of_bytes(bytes)?,
    })
}

/// Eight bytes, or a text of digits; an empty one is none.
fn of_bytes(bytes: &[u8]) -> Option<u64> {
    if let Ok(eight) = <[u8; 8]>::try_from(bytes) {
        return Some(u64::from_be_bytes(eight));
    }
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    match text.len() {
        0 => Some(0),
        DIGITS => u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::of_bytes;

    #[test]
    fn an_id_is_eight_bytes_or_sixteen_digits() {
        assert_eq!(of_bytes(&[1, 2, 3, 4, 5, 6, 7, 8]), Some(0x0102_0304_0506_0708));
        assert_eq!(of_bytes(b"0102030405060708\0"), Some(0x0102_0304_0506_0708));
        assert_eq!((of_bytes(b""), of_bytes(b"\0"), of_bytes(b"xyz")), (Some(0), Some(0), None));
        assert_eq!(of_bytes(b"010203040506070g"), None);
    }
}
