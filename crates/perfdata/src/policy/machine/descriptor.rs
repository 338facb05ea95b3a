//! What descriptors of the traced processes stood for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of the longest name: a path has at most `PATH_MAX`.
const LONGEST_NAME: usize = 4096;

/// What a descriptor of a process stood for whenever it was looked at from one time to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "open_descriptor")]
pub struct OpenDescriptor {
    /// The process.
    pub pid: i32,
    /// The descriptor's number.
    pub fd: u32,
    /// A file's path, or a socket by its addresses: `TCP 10.0.0.3:41022 to 10.0.0.7:5432`, `Unix /run/app.sock`.
    pub name: String,
    /// When it was seen first, by the TSC.
    pub from: u64,
    /// When it was seen last.
    pub to: u64,
}

impl OpenDescriptor {
    pub(super) fn is_sound(&self) -> bool {
        self.pid >= 0
            && self.from <= self.to
            && !self.name.is_empty()
            && self.name.len() <= LONGEST_NAME
            && !self.name.chars().any(char::is_control)
    }
}
