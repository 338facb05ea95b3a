//! What one writer has said: names that later packets refer to by number, its clocks, defaults. It holds until the writer
//! starts anew.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::Number;

use super::clocks::OfWriter;
use super::messages::{Annotation, Defaults, Interned, InternedData, TrackEvent};
use crate::file::spans::keeping::Attributes;

/// The most tracks of a writer that are remembered, for what it loses.
const MOST_TRACKS: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Sequence {
    names: HashMap<u64, Rc<str>>,
    annotation_names: HashMap<u64, Rc<str>>,
    texts: HashMap<u64, Rc<str>>,
    pub(super) clocks: OfWriter,
    clock: Option<u32>,
    track: Option<u64>,
    /// Whether it holds all that was said since it started anew.
    is_whole: bool,
    used: BTreeSet<u64>,
}

impl Sequence {
    /// The writer starts anew.
    pub(super) fn clear(&mut self) {
        let used = std::mem::take(&mut self.used);
        *self = Sequence { used, is_whole: true, ..Sequence::default() };
    }

    /// Packets are missing.
    pub(super) fn lose(&mut self) {
        self.is_whole = false;
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether anything of it was read.
    pub(super) fn has_begun(&self) -> bool {
        self.is_whole || !self.used.is_empty()
    }

    pub(super) fn set_defaults(&mut self, defaults: &Defaults) {
        self.clock = defaults.clock;
        self.track = defaults.event.as_ref().and_then(|event| event.track);
    }

    /// The clock of times without one.
    pub(super) fn default_clock(&self) -> Option<u32> {
        self.clock
    }

    /// The track of events without one: that of the thread that writes.
    pub(super) fn default_track(&self) -> Option<u64> {
        self.track
    }

    /// It has events on this track.
    pub(super) fn uses(&mut self, track: u64) {
        if self.used.len() < MOST_TRACKS {
            self.used.insert(track);
        }
    }

    pub(super) fn used_tracks(&self) -> impl Iterator<Item = u64> {
        self.used.iter().copied()
    }

    pub(super) fn intern(&mut self, data: &InternedData) {
        let keep = |into: &mut HashMap<u64, Rc<str>>, entries: &[Interned]| {
            let known = |entry: &Interned| Some((entry.iid?, text(entry.name.as_deref()?)));
            into.extend(entries.iter().filter_map(known));
        };
        keep(&mut self.names, &data.event_names);
        keep(&mut self.annotation_names, &data.annotation_names);
        keep(&mut self.texts, &data.texts);
    }

    /// The name of an event; ends have none.
    pub(super) fn name(&self, event: &TrackEvent) -> Option<Rc<str>> {
        resolved(event.name.as_deref(), event.name_iid, &self.names)
    }

    /// Numbers become counters, texts and flags attributes.
    pub(super) fn annotate(&self, annotation: &Annotation, attributes: &mut Attributes) {
        let name = resolved(annotation.name.as_deref(), annotation.name_iid, &self.annotation_names);
        let Some(name) = name else { return };
        let whole = annotation.unsigned.map(Number::from).or(annotation.signed.map(Number::from));
        let number = whole.or_else(|| annotation.double.and_then(Number::from_f64));
        if let Some(number) = number {
            attributes.json_number(&name, &number);
        } else if let Some(flag) = annotation.flag {
            attributes.flag(&name, flag);
        } else if let Some(text) = resolved(annotation.text.as_deref(), annotation.text_iid, &self.texts) {
            attributes.text(&name, &text);
        }
    }
}

fn resolved(stated: Option<&[u8]>, number: Option<u64>, interned: &HashMap<u64, Rc<str>>) -> Option<Rc<str>> {
    stated.map(text).or_else(|| interned.get(&number?).cloned())
}

fn text(bytes: &[u8]) -> Rc<str> {
    Rc::from(String::from_utf8_lossy(bytes))
}
