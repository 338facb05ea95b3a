//! Which fields of a tracepoint are the key and which are counters, found once per event.

use model::Counter;
use perfdata::{FieldValue, TracepointField, TracepointFormat};

use crate::error::Error;
use crate::pairing::MOST_COUNTERS;

/// The longest part of a text or byte field that is read as a text.
const LONGEST_TEXT: usize = 256;

/// Positions of the interesting fields in the format's list.
pub(super) struct Fields {
    key: Option<usize>,
    counters: Vec<usize>,
}

impl Fields {
    /// The fields of `format`; an error where it lacks the key's.
    pub(super) fn of(format: &TracepointFormat, key: Option<&str>) -> Result<Fields, Error> {
        let fields = format.fields();
        let at = |wanted: &str| fields.iter().position(|field| field.name() == wanted);
        let key = match key {
            None => None,
            Some(wanted) => Some(at(wanted).ok_or_else(|| no_field(format, wanted))?),
        };
        let is_counter = |&index: &usize| Some(index) != key && is_own(fields[index].name());
        let counters = (0..fields.len()).filter(is_counter).take(MOST_COUNTERS).collect();
        Ok(Fields { key, counters })
    }

    /// The key's value as text.
    pub(super) fn key(&self, format: &TracepointFormat, raw: &[u8]) -> Option<Box<str>> {
        Some(text(format.fields().get(self.key?)?.value(raw)?))
    }

    /// All other fields that are numbers.
    pub(super) fn counters(&self, format: &TracepointFormat, raw: &[u8]) -> Vec<Counter> {
        let counter = |&index: &usize| {
            let field = format.fields().get(index)?;
            let value = match field.value(raw)? {
                FieldValue::Unsigned(value) => value.into(),
                FieldValue::Signed(value) => value.into(),
                FieldValue::Text(_) | FieldValue::Bytes(_) => return None,
            };
            Some(Counter { name: field.name().to_owned(), value })
        };
        self.counters.iter().filter_map(counter).collect()
    }
}

/// The field `wanted` of one payload as text; `None` where the payload is too short for it.
pub(super) fn key(format: &TracepointFormat, raw: &[u8], wanted: &str) -> Result<Option<Box<str>>, Error> {
    let field = format.field(wanted).ok_or_else(|| no_field(format, wanted))?;
    Ok(field.value(raw).map(text))
}

fn no_field(format: &TracepointFormat, wanted: &str) -> Error {
    Error::NoSuchEvent {
        event: format.name().to_owned(),
        why: format!("its field {wanted} is not there, its fields are: {}", names(format)),
    }
}

/// A value as text: numbers in decimals.
pub(super) fn text(value: FieldValue<'_>) -> Box<str> {
    match value {
        FieldValue::Unsigned(value) => value.to_string().into(),
        FieldValue::Signed(value) => value.to_string().into(),
        FieldValue::Text(bytes) => String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_TEXT)]).into(),
        FieldValue::Bytes(bytes) => bytes[..bytes.len().min(LONGEST_TEXT)].escape_ascii().to_string().into(),
    }
}

/// The fields that a reader may name.
pub(super) fn names(format: &TracepointFormat) -> String {
    let names = format.fields().iter().map(TracepointField::name).filter(|name| is_own(name));
    names.take(40).collect::<Vec<_>>().join(", ")
}

/// Whether a field is the program's, not the kernel's bookkeeping.
fn is_own(name: &str) -> bool {
    !name.starts_with("common_") && !name.starts_with("__")
}
