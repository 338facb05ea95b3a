//! The goroutine on each thread, and the tasks and regions that are open.

use std::collections::HashMap;
use std::rc::Rc;

use model::{IntervalId, Pid, ThreadId, Tid};

use super::events::Event;
use super::generation::OnThread;
use crate::file::spans::keeping::{Attributes, Keeping, Span};
use crate::file::tree::Link;
use crate::findings::Origin;

/// A region's number among the spans is beside those of tasks.
const OF_REGIONS: u64 = 1 << 63;
/// Tasks that are none: of the background, and of nothing.
const NO_TASK: [u64; 2] = [0, u64::MAX];
/// The most regions that may be open on a goroutine.
const DEEPEST_NESTING: usize = 4096;
const REMEDY: &str = "the thread of its begin is no number of the kernel";

/// A task or region that has begun.
struct Open {
    id: IntervalId,
    name: Rc<str>,
    /// Nanoseconds.
    start: u64,
    thread: u64,
    task: u64,
    span: u64,
    parent: Option<u64>,
    attributes: Attributes,
    origin: Origin,
}

/// The texts of a generation.
type Texts = HashMap<u64, Rc<str>>;

#[derive(Default)]
pub(super) struct Goroutines {
    /// The goroutine of each thread.
    on: HashMap<u64, u64>,
    /// The open regions of each goroutine, the innermost last.
    regions: HashMap<u64, Vec<Open>>,
    tasks: HashMap<u64, Open>,
    begun: u64,
}

impl Goroutines {
    /// Applies an event; `at` is its time in nanoseconds.
    pub(super) fn apply(&mut self, event: &OnThread, at: u64, texts: &Texts, keeping: &mut Keeping<'_>) {
        let name = |number: u64| texts.get(&number).cloned().unwrap_or_default();
        match event.event {
            Event::Runs { goroutine, on } => {
                self.on.insert(on.unwrap_or(event.thread), goroutine);
            }
            Event::Leaves => {
                self.on.remove(&event.thread);
            }
            Event::TaskBegin { task, parent, name: number } => {
                let mut open = Open::new(event, at, name(number), task, keeping);
                open.span = task;
                open.parent = Some(parent).filter(|parent| !NO_TASK.contains(parent));
                self.tasks.insert(task, open);
            }
            Event::TaskEnd { task } => match self.tasks.remove(&task) {
                Some(open) => keep(open, at, event.thread, keeping),
                None => alone(event, "", keeping),
            },
            Event::RegionBegin { task, name: number } => {
                let open = Open::new(event, at, name(number), task, keeping);
                self.begin_region(event, open, keeping);
            }
            Event::RegionEnd { task, name: number } => {
                self.end_region(event, task, &name(number), at, keeping);
            }
            Event::Log { task, name: number, value } => {
                if let Some(open) = self.tasks.get_mut(&task) {
                    open.attributes.text(&name(number), &name(value));
                }
            }
        }
    }

    fn begin_region(&mut self, event: &OnThread, mut open: Open, keeping: &mut Keeping<'_>) {
        let Some(goroutine) = self.on.get(&event.thread) else {
            let what = "begins on a thread whose goroutine is not known".to_owned();
            return keeping.refuse(open.origin, &open.name, ("regions without a goroutine", what));
        };
        let regions = self.regions.entry(*goroutine).or_default();
        if regions.len() >= DEEPEST_NESTING {
            let what = "is one of more than 4096 open ones".to_owned();
            return keeping.refuse(open.origin, &open.name, ("begins beyond the limit", what));
        }
        self.begun += 1;
        open.span = OF_REGIONS | self.begun;
        let task = Some(open.task).filter(|task| !NO_TASK.contains(task));
        open.parent = regions.last().map(|outer| outer.span).or(task);
        regions.push(open);
    }

    /// Ends the innermost region of this task and name on the goroutine.
    fn end_region(&mut self, event: &OnThread, task: u64, name: &str, at: u64, keeping: &mut Keeping<'_>) {
        let regions = self.on.get(&event.thread).and_then(|goroutine| self.regions.get_mut(goroutine));
        let begun =
            |regions: &[Open]| regions.iter().rposition(|open| open.task == task && &*open.name == name);
        let Some((begun, regions)) = regions.and_then(|regions| Some((begun(regions)?, regions))) else {
            return alone(event, name, keeping);
        };
        for open in regions.split_off(begun + 1) {
            without_end(&open, keeping);
        }
        if let Some(open) = regions.pop() {
            keep(open, at, event.thread, keeping);
        }
    }

    /// The trace has ended: what is still open has no end.
    pub(super) fn finish(self, keeping: &mut Keeping<'_>) {
        let mut left: Vec<Open> =
            self.regions.into_values().flatten().chain(self.tasks.into_values()).collect();
        left.sort_by_key(|open| open.id);
        for open in &left {
            without_end(open, keeping);
        }
    }
}

impl Open {
    fn new(event: &OnThread, at: u64, name: Rc<str>, task: u64, keeping: &mut Keeping<'_>) -> Open {
        Open {
            id: keeping.number(),
            name,
            start: at,
            thread: event.thread,
            task,
            span: 0,
            parent: None,
            attributes: Attributes::default(),
            origin: Origin::Byte(event.batch),
        }
    }
}

/// An end of what began before the trace, or in a part that is broken.
fn alone(event: &OnThread, name: &str, keeping: &mut Keeping<'_>) {
    let what = "has an end without begin".to_owned();
    keeping.refuse(Origin::Byte(event.batch), name, ("ends without begin", what));
}

fn without_end(open: &Open, keeping: &mut Keeping<'_>) {
    keeping.refuse(open.origin, &open.name, ("begins without end", "has no end".to_owned()));
}

/// A thread of the trace's process, which the trace does not name.
fn thread(number: u64) -> Option<ThreadId> {
    let tid = i32::try_from(number).ok().filter(|tid| *tid > 0)?;
    Some(ThreadId { pid: Pid::UNKNOWN, tid: Tid(tid) })
}

fn keep(open: Open, stop: u64, stop_thread: u64, keeping: &mut Keeping<'_>) {
    let start_thread = thread(open.thread);
    if start_thread.is_none() {
        keeping.no_thread(open.origin, &open.name, REMEDY);
    }
    let has_task = !NO_TASK.contains(&open.task);
    let span = Span {
        name: open.name.to_string(),
        key: has_task.then(|| open.task.to_string()),
        start: open.start,
        stop,
        start_thread,
        stop_thread: thread(stop_thread),
        attributes: open.attributes,
        link: Link::Ids { trace: 0, span: open.span, parent: open.parent },
        origin: open.origin,
    };
    keeping.keep(open.id, span);
}
