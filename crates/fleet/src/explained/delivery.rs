//! What comes to the tables.

use std::collections::BTreeMap;
use std::path::Path;

use analysis::Request;

/// A capture as it comes to the tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delivery {
    /// What is explained of it, and how: the path is that of the capture, slice or bundle.
    pub request: Request,
    /// What the tables call it: its path, or an object's URI.
    pub uri: String,
    /// Tags that count where the bundle has none of this name.
    pub tags: BTreeMap<String, String>,
}

impl Delivery {
    /// The file or folder.
    pub fn path(&self) -> &Path {
        &self.request.input.path
    }
}
