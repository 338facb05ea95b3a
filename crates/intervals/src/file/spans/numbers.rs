//! Numbers and texts as span files write them: 64-bit numbers often stand in quotes.

use serde_json::Value;

use crate::file::cells;

/// An unsigned number, also in quotes.
pub(super) fn unsigned(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => cells::unsigned(text.as_bytes()),
        _ => None,
    }
}

/// The number of a process or thread.
pub(super) fn thread_number(value: &Value) -> Option<i32> {
    unsigned(value).and_then(|number| i32::try_from(number).ok())
}

/// A value as a message shows it.
pub(super) fn shown(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}
