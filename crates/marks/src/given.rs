//! Marks for who collects those of another interface: with times that were read before, and names that threads are given.

use core::ffi::CStr;

use crate::program::ring;
use crate::record::{Kind, Record};
use crate::system;

/// An interval began at `at`, in ticks of the time-stamp counter, on the thread that calls.
#[inline]
pub fn begin_at(label: &'static CStr, key: u64, at: u64) {
    mark_at(Kind::Begin, label, key, at);
}

/// An interval ended at `at`, in ticks of the time-stamp counter, on the thread that calls.
#[inline]
pub fn end_at(label: &'static CStr, key: u64, at: u64) {
    mark_at(Kind::End, label, key, at);
}

/// The interval's task waited from `at` on, in ticks of the time-stamp counter; the thread that calls is the one that ran it.
#[inline]
pub fn task_await_at(label: &'static CStr, key: u64, at: u64) {
    mark_at(Kind::Await, label, key, at);
}

#[inline]
fn mark_at(kind: Kind, label: &'static CStr, key: u64, at: u64) {
    if let Some(ring) = ring() {
        ring.mark(|| Record::mark(kind, label, key, at));
    }
}

/// Names the thread that calls, in the kernel as well: of a longer name the first 15 bytes.
pub fn name_thread(name: &CStr) {
    system::set_thread_name(name);
    if let Some(ring) = ring() {
        ring.read_thread_name();
    }
}
