//! Tasks of asynchronous runtimes: a future whose polls, waits and wake-ups are marks.
//!
//! Input: a future. Output: an interval from the call of [`task`] to the future's end, with a `run` at each poll, an
//! `await` after each that is pending, and a `ready` where it is woken (`docs/interval-file.md`, "Tasks"). Works with any
//! runtime: it needs no more than the future's context.

use core::ffi::CStr;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use std::boxed::Box;
use std::sync::Arc;
use std::task::Wake;

use crate::program::{begin, end_since, mark};
use crate::record::Kind;

/// A thread runs the interval's task from here on: mark it before the task is polled.
#[inline]
pub fn task_run(label: &'static CStr, key: u64) {
    mark(Kind::Run, label, key);
}

/// The interval's task can go on: mark it where the task is woken.
#[inline]
pub fn task_ready(label: &'static CStr, key: u64) {
    mark(Kind::Ready, label, key);
}

/// The interval's task waits from here on: mark it after a poll that was pending.
#[inline]
pub fn task_await(label: &'static CStr, key: u64) {
    mark(Kind::Await, label, key);
}

/// Begins an interval that is the life of `future`: `runtime.spawn(task(c"order", id, handle(request)))`. It is ready from here on, and ends
/// where the future does or is dropped.
pub fn task<F: Future>(label: &'static CStr, key: u64, future: F) -> Task<F> {
    let since = begin(label, key);
    task_ready(label, key);
    Task { label, key, since, future: Some(Box::pin(future)), waker: None, is_over: Arc::default() }
}

/// A future that is an interval: see [`task`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Task<F> {
    label: &'static CStr,
    key: u64,
    since: u64,
    /// `None`: it has ended.
    future: Option<Pin<Box<F>>>,
    /// The last one that the future was polled with.
    waker: Option<(Arc<Marker>, Waker)>,
    /// A waker may outlive its task, whose key may be another one's by then.
    is_over: Arc<AtomicBool>,
}

/// Marks a wake-up before it wakes.
struct Marker {
    label: &'static CStr,
    key: u64,
    is_over: Arc<AtomicBool>,
    inner: Waker,
}

impl Wake for Marker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_over.load(Ordering::Relaxed) {
            task_ready(self.label, self.key);
        }
        self.inner.wake_by_ref();
    }
}

impl<F> Task<F> {
    /// The waker that marks, around `inner`: a new one where the task has moved to another.
    fn waker(&mut self, inner: &Waker) -> &Waker {
        let is_same = |(marker, _): &(Arc<Marker>, Waker)| marker.inner.will_wake(inner);
        let waker = self.waker.take().filter(is_same);
        let (label, key) = (self.label, self.key);
        let waker = waker.unwrap_or_else(|| {
            let is_over = Arc::clone(&self.is_over);
            let marker = Arc::new(Marker { label, key, is_over, inner: inner.clone() });
            (Arc::clone(&marker), Waker::from(marker))
        });
        &self.waker.insert(waker).1
    }

    fn end(&mut self) {
        if self.future.take().is_some() {
            self.is_over.store(true, Ordering::Relaxed);
            self.waker = None;
            end_since(self.label, self.key, self.since);
        }
    }
}

impl<F: Future> Future for Task<F> {
    type Output = F::Output;

    /// # Panics
    /// Where the future had ended.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let task = &mut *self;
        let (label, key) = (task.label, task.key);
        let waker = task.waker(context.waker()).clone();
        #[allow(clippy::expect_used, reason = "as any future: it is not to be polled after its end")]
        let future = task.future.as_mut().expect("polled after its end");
        task_run(label, key);
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        match polled {
            Poll::Pending => task_await(label, key),
            Poll::Ready(_) => task.end(),
        }
        polled
    }
}

impl<F> Drop for Task<F> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<F> fmt::Debug for Task<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Task { label, key, .. } = self;
        f.debug_struct("Task").field("label", label).field("key", key).finish_non_exhaustive()
    }
}
