//! The strings of the payload.

use std::collections::HashMap;

use crate::escape::for_terminal;

/// Bytes of text.
const MOST_TEXT: usize = 600_000;

/// All strings, each once.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) all: Vec<String>,
    known: HashMap<String, usize>,
    bytes: usize,
}

impl Texts {
    /// Where `raw` stands, escaped for a screen.
    pub(super) fn index(&mut self, raw: &str) -> usize {
        let mut text = for_terminal(raw);
        if !self.known.contains_key(&text) && self.bytes.saturating_add(text.len()) > MOST_TEXT {
            "[no room in this file]".clone_into(&mut text);
        }
        if let Some(&index) = self.known.get(&text) {
            return index;
        }
        let index = self.all.len();
        self.bytes += text.len();
        self.all.push(text.clone());
        self.known.insert(text, index);
        index
    }
}
