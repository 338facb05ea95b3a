//! Notes of which windows were decoded: the trace that a slice must hold.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use model::{Cpu, Tid, TscRange};
use pt::PtStream;

/// Whose trace: a CPU's or a thread's.
pub(crate) type StreamKey = (Option<Cpu>, Option<Tid>);

/// The notes; off until somebody wants them.
#[derive(Debug, Default)]
pub(crate) struct WindowNotes {
    is_on: AtomicBool,
    windows: Mutex<Vec<(StreamKey, TscRange)>>,
}

impl WindowNotes {
    /// From now on every window is noted.
    pub(crate) fn start(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Notes a window of `stream`, where that is wanted.
    pub(crate) fn note(&self, stream: &PtStream<'_>, range: TscRange) {
        if self.is_on.load(Ordering::Relaxed) {
            let window = (key_of(stream), range);
            self.windows.lock().unwrap_or_else(PoisonError::into_inner).push(window);
        }
    }

    /// Ends it: the windows in order, each once.
    pub(crate) fn take(&self) -> Vec<(StreamKey, TscRange)> {
        self.is_on.store(false, Ordering::Relaxed);
        let mut windows = std::mem::take(&mut *self.windows.lock().unwrap_or_else(PoisonError::into_inner));
        windows.sort_unstable_by_key(|&(key, range)| (key, range.start, range.stop));
        windows.dedup();
        windows
    }
}

/// The key of a stream.
pub(crate) fn key_of(stream: &PtStream<'_>) -> StreamKey {
    match stream.cpu() {
        Some(cpu) => (Some(cpu), None),
        None => (None, stream.thread()),
    }
}
