//! What the task of an open interval does, from `run`, `ready` and `await` markers.
//!
//! Input: the markers of one interval in order of time. Output: [`Phase`]s that follow each other without holes from
//! its begin to its end, or none where there is no such marker. Up to the first marker the thread of the begin runs the
//! task. A task that is woken while it runs goes on running: it is ready from its `await` on.

use model::{Phase, PhaseKind, ThreadId, Tsc, TscRange};

/// The most phases that one interval keeps.
pub const MOST_PHASES: usize = 4096;

/// The phases of an open interval.
#[derive(Debug, Default)]
pub(super) struct Phases {
    begun: Vec<Begun>,
    /// The marker that woke the task while it ran.
    woken: Option<Begun>,
}

/// A phase of which only the begin is known.
#[derive(Clone, Copy, Debug)]
struct Begun {
    kind: PhaseKind,
    thread: Option<ThreadId>,
    at: Tsc,
}

impl Phases {
    /// Takes a marker at `at`, not earlier than those before; false where there is no room for it.
    pub(super) fn add(&mut self, kind: PhaseKind, at: Tsc, thread: Option<ThreadId>) -> bool {
        let (kind, thread) = match (self.begun.last(), kind) {
            (Some(Begun { kind: PhaseKind::Run, .. }), PhaseKind::Ready) => {
                self.woken.get_or_insert(Begun { kind, thread, at });
                return true;
            }
            (Some(Begun { kind: PhaseKind::Run, thread: runner, .. }), PhaseKind::Run)
                if *runner == thread =>
            {
                return true;
            }
            (Some(Begun { kind: PhaseKind::Ready, .. }), PhaseKind::Ready)
            | (Some(Begun { kind: PhaseKind::Await, .. }), PhaseKind::Await) => return true,
            // Whoever writes it down: the thread that ran the task has left it.
            (Some(Begun { kind: PhaseKind::Run, thread: runner, .. }), PhaseKind::Await) => {
                self.woken.map_or((PhaseKind::Await, *runner), |woken| (PhaseKind::Ready, woken.thread))
            }
            (_, kind) => (kind, thread),
        };
        self.woken = None;
        let has_room = self.begun.len() < MOST_PHASES;
        if has_room {
            self.begun.push(Begun { kind, thread, at });
        }
        has_room
    }

    /// The phases of the interval of `range`, which thread `beginner` began. Phases of no length are left out, but for those that are
    /// ready: they say which thread woke it.
    pub(super) fn finish(self, range: TscRange, beginner: Option<ThreadId>) -> Vec<Phase> {
        if self.begun.is_empty() {
            return Vec::new();
        }
        let first = Begun { kind: PhaseKind::Run, thread: beginner, at: range.start };
        let stops = self.begun.iter().map(|next| next.at).chain([range.stop]);
        let mut phases: Vec<Phase> = Vec::with_capacity(self.begun.len() + 1);
        for (begun, stop) in [first].iter().chain(&self.begun).zip(stops) {
            let Begun { kind, thread, at } = *begun;
            let range = TscRange::new(at, stop);
            match phases.last_mut() {
                _ if range.is_empty() && kind != PhaseKind::Ready => {}
                // The begin, and the marker that says by whom the task is run.
                Some(last) if (last.kind, last.thread) == (kind, thread) => last.range.stop = stop,
                _ => phases.push(Phase { kind, thread, range }),
            }
        }
        phases
    }
}
