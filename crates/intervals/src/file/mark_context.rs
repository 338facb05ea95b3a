//! What is remembered of marks from line to line.

use std::collections::HashMap;
use std::sync::Arc;

use model::{ThreadId, Tid, Tsc};

/// Labels and last times; grows with the threads of the file and its first labels.
#[derive(Default)]
pub(super) struct MarkContext {
    labels: HashMap<Box<str>, Arc<str>>,
    /// What the last line had.
    last_label: Option<Arc<str>>,
    /// The time of each thread's last mark: that of its counters which state none.
    last: HashMap<Option<ThreadId>, Tsc>,
    threads: HashMap<Tid, ThreadId>,
}

impl MarkContext {
    /// The time of `thread`'s last mark.
    pub(super) fn last_mark(&self, thread: Option<ThreadId>) -> Option<Tsc> {
        self.last.get(&thread).copied()
    }

    /// The thread with this number that made a mark.
    pub(super) fn thread(&self, tid: Tid) -> Option<ThreadId> {
        self.threads.get(&tid).copied()
    }

    /// Remembers a mark of `thread` at `at`; its label, shared with those before.
    pub(super) fn enter(&mut self, label: &str, thread: Option<ThreadId>, at: Tsc) -> Arc<str> {
        if let (None, Some(thread)) = (self.last.insert(thread, at), thread) {
            self.threads.insert(thread.tid, thread);
        }
        self.label(label)
    }

    /// The label, shared with those before; `interval` where it is empty.
    pub(super) fn label(&mut self, label: &str) -> Arc<str> {
        self.exact_label(if label.is_empty() { "interval" } else { label })
    }

    /// The same where an empty label is one.
    pub(super) fn exact_label(&mut self, label: &str) -> Arc<str> {
        if let Some(last) = self.last_label.as_ref().filter(|last| ***last == *label) {
            return Arc::clone(last);
        }
        let shared = self.find_or_add(label);
        self.last_label = Some(Arc::clone(&shared));
        shared
    }

    fn find_or_add(&mut self, label: &str) -> Arc<str> {
        if let Some(known) = self.labels.get(label) {
            return Arc::clone(known);
        }
        let new: Arc<str> = label.into();
        // Labels are few; a file that has a new one in each line shares nothing and costs no more than that.
        if self.labels.len() < 4096 {
            self.labels.insert(label.into(), Arc::clone(&new));
        }
        new
    }
}
