//! Tasks that begin and end on one thread, nested.

use std::ffi::{CStr, c_void};

use crate::abi::{Domain, Id, StringHandle};
use crate::stack::{self, Task};

/// The label of tasks that have a function for a name.
const FUNCTION: &CStr = c"function";

/// When something happened.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// Now: the counter is read where the mark is made.
    Now,
    /// As [`crate::frames::get_timestamp`] read it.
    At(u64),
    /// By a clock of the program's own, which cannot be converted.
    Unknown,
}

impl When {
    /// Of a call that gives a clock domain, null for the API's own, and a time.
    pub(crate) fn of(clock: *const c_void, timestamp: u64) -> When {
        if clock.is_null() { When::At(timestamp) } else { When::Unknown }
    }

    pub(crate) fn begin(self, label: &'static CStr, key: u64) {
        match self {
            When::Now => _ = marks::begin(label, key),
            When::At(at) => marks::begin_at(label, key, at),
            When::Unknown => {}
        }
    }

    pub(crate) fn end(self, label: &'static CStr, key: u64) {
        match self {
            When::Now => marks::end(label, key),
            When::At(at) => marks::end_at(label, key, at),
            When::Unknown => {}
        }
    }
}

fn begin(domain: Option<&Domain>, id: Id, label: Option<&'static CStr>, when: When) {
    let Some(domain) = domain else { return };
    let is_written = !stack::is_paused() && !matches!(when, When::Unknown);
    let task = Task { domain: domain.address(), label: label.filter(|_| is_written), key: id.key() };
    if let (true, Some(label)) = (stack::push(task), task.label) {
        when.begin(label, task.key);
    }
}

fn end(domain: Option<&Domain>, when: When) {
    let Some(task) = domain.and_then(|domain| stack::pop(domain.address())) else { return };
    if let Some(label) = task.label {
        when.end(label, task.key);
    }
}

/// `__itt_task_begin`.
pub(crate) extern "C" fn task_begin(
    domain: Option<&Domain>,
    id: Id,
    _parent: Id,
    name: Option<&StringHandle>,
) {
    begin(domain, id, name.and_then(StringHandle::text), When::Now);
}

/// `__itt_task_begin_fn`.
pub(crate) extern "C" fn task_begin_fn(domain: Option<&Domain>, id: Id, _parent: Id, _name: *const c_void) {
    begin(domain, id, Some(FUNCTION), When::Now);
}

/// `__itt_task_begin_ex`.
pub(crate) extern "C" fn task_begin_ex(
    domain: Option<&Domain>,
    clock: *const c_void,
    timestamp: u64,
    id: Id,
    _parent: Id,
    name: Option<&StringHandle>,
) {
    begin(domain, id, name.and_then(StringHandle::text), When::of(clock, timestamp));
}

/// `__itt_task_begin_fn_ex`.
pub(crate) extern "C" fn task_begin_fn_ex(
    domain: Option<&Domain>,
    clock: *const c_void,
    timestamp: u64,
    id: Id,
    _parent: Id,
    _name: *const c_void,
) {
    begin(domain, id, Some(FUNCTION), When::of(clock, timestamp));
}

/// `__itt_task_end`.
pub(crate) extern "C" fn task_end(domain: Option<&Domain>) {
    end(domain, When::Now);
}

/// `__itt_task_end_ex`.
pub(crate) extern "C" fn task_end_ex(domain: Option<&Domain>, clock: *const c_void, timestamp: u64) {
    end(domain, When::of(clock, timestamp));
}
