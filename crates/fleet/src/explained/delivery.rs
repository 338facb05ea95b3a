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
    /// What `request` reads, called `uri` or by its absolute path.
    pub fn of(request: Request, uri: Option<String>, tags: BTreeMap<String, String>) -> Delivery {
        let path = &request.input.path;
        let own =
            || std::path::absolute(path).unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned();
        Delivery { uri: uri.unwrap_or_else(own), request, tags }
    }

    /// The file or folder.
    pub fn path(&self) -> &Path {
        &self.request.input.path
    }
}
