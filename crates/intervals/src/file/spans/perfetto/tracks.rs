//! Tracks, and the slices on them. A begin and an end pair by time: an end ends the innermost open begin of its track.

use std::collections::HashMap;
use std::rc::Rc;

use model::{IntervalId, ThreadId};

use super::messages::TrackDescriptor;
use crate::file::marks::MOST_MARKS;
use crate::file::spans::keeping::{Attributes, Keeping, Span};
use crate::file::tree::Link;
use crate::findings::Origin;

const REMEDY: &str = "describe its track by a `TrackDescriptor` with `thread`, `pid` and `tid` of the kernel";

/// A begin or an end.
pub(super) struct Mark {
    pub(super) track: u64,
    /// The track of the thread that wrote it, where that is known.
    pub(super) writer: Option<u64>,
    /// In the clock of the trace.
    pub(super) at: u64,
    pub(super) what: What,
    pub(super) attributes: Option<Box<Attributes>>,
    pub(super) origin: Origin,
}

/// What is marked.
pub(super) enum What {
    Begin {
        id: IntervalId,
        name: Rc<str>,
        flow: Option<u64>,
    },
    End,
    /// Marks are missing here.
    Lost,
}

#[derive(Default)]
pub(super) struct Tracks {
    threads: HashMap<u64, ThreadId>,
    marks: Vec<Mark>,
    /// The last time on each track.
    last: HashMap<u64, u64>,
}

impl Tracks {
    pub(super) fn describe(&mut self, descriptor: &TrackDescriptor) {
        let thread = descriptor.thread.as_ref().and_then(|thread| {
            let tid = i32::try_from(thread.tid?).ok()?;
            Some(ThreadId::new(thread.pid.filter(|pid| *pid > 0)?, Some(tid).filter(|tid| *tid > 0)?))
        });
        if let (Some(uuid), Some(thread)) = (descriptor.uuid, thread) {
            self.threads.insert(uuid, thread);
        }
    }

    /// False where there are too many.
    pub(super) fn keep(&mut self, mark: Mark) -> bool {
        if self.marks.len() >= MOST_MARKS {
            return false;
        }
        self.last.insert(mark.track, mark.at);
        self.marks.push(mark);
        true
    }

    /// Marks of a writer of these tracks are missing, after all that it wrote.
    pub(super) fn lose(&mut self, tracks: impl Iterator<Item = u64>) {
        for track in tracks {
            let at = self.last.get(&track).copied().unwrap_or_default();
            let lost =
                Mark { track, writer: None, at, what: What::Lost, attributes: None, origin: Origin::Unknown };
            self.keep(lost);
        }
    }

    /// Pairs what is kept.
    pub(super) fn finish(mut self, keeping: &mut Keeping<'_>) {
        let mut marks = std::mem::take(&mut self.marks);
        // Stable: of equal times that which stands first in the file is first.
        marks.sort_by_key(|mark| (mark.track, mark.at));
        let (mut lane, mut open): (u32, Vec<Mark>) = (0, Vec::new());
        let mut track = None;
        for mark in marks {
            if track != Some(mark.track) {
                track = Some(mark.track);
                lane += 1;
                without_end(&mut open, keeping);
            }
            match mark.what {
                What::Begin { .. } => open.push(mark),
                What::Lost => without_end(&mut open, keeping),
                What::End => {
                    if let Some(begin) = open.pop() {
                        self.pair(begin, mark, lane, keeping);
                    } else {
                        let what = "has an end without begin".to_owned();
                        keeping.refuse(mark.origin, "", ("ends without begin", what));
                    }
                }
            }
        }
        without_end(&mut open, keeping);
    }

    fn pair(&self, begin: Mark, end: Mark, lane: u32, keeping: &mut Keeping<'_>) {
        let What::Begin { id, name, flow } = begin.what else { return };
        let of_track = self.threads.get(&begin.track).copied();
        let thread = |mark: Option<u64>| of_track.or_else(|| self.threads.get(&mark?).copied());
        let start_thread = thread(begin.writer);
        if start_thread.is_none() {
            keeping.no_thread(begin.origin, &name, REMEDY);
        }
        let mut attributes = begin.attributes.map(|kept| *kept).unwrap_or_default();
        attributes.append(end.attributes.map(|kept| *kept).unwrap_or_default());
        let of_its_own = of_track.is_none().then_some(begin.track);
        let span = Span {
            name: name.to_string(),
            key: flow.or(of_its_own).map(|key| format!("{key:x}")),
            start: begin.at,
            stop: end.at,
            start_thread,
            stop_thread: thread(end.writer).or(start_thread),
            attributes,
            link: Link::Lane(lane),
            origin: begin.origin,
        };
        keeping.keep(id, span);
    }
}

/// What is open has no end.
fn without_end(open: &mut Vec<Mark>, keeping: &mut Keeping<'_>) {
    for mark in open.drain(..) {
        if let What::Begin { name, .. } = &mark.what {
            keeping.refuse(mark.origin, name, ("begins without end", "has no end".to_owned()));
        }
    }
}
