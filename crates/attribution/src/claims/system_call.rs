//! A system call by its `sys_enter` record: its name, and what it works on.

use std::sync::Arc;

use model::{Evidence, OffCpu};

use crate::inputs::files::Files;
use crate::records::event::{EventKind, SidebandEvent};
use crate::records::words::describe;
use crate::tables::syscalls;
use crate::tables::syscalls::{FutexOperation, Object};

/// A system call in which a thread was.
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) object: Option<Object>,
    /// The name of the file that the descriptor refers to, where a record has it.
    pub(crate) file: Option<Arc<str>>,
    /// The operation of a futex call, its second argument.
    pub(crate) operation: Option<FutexOperation>,
    /// Its timeout in ms, where an argument has one.
    pub(crate) timeout: Option<u32>,
    /// Whether it waits for nothing but a time.
    pub(crate) is_for_time: bool,
    /// Whether it waits for a lock of a file, as its command says.
    pub(crate) is_for_file_lock: bool,
    pub(crate) record: Option<Evidence>,
}

impl Call {
    /// A call of which only the name is known.
    pub(crate) fn named(name: &str) -> Call {
        Call {
            name: name.to_owned(),
            object: None,
            file: None,
            operation: None,
            timeout: None,
            is_for_time: false,
            is_for_file_lock: false,
            record: None,
        }
    }

    /// The call that a `sys_enter` record began.
    pub(crate) fn of_record(event: &SidebandEvent, files: &dyn Files) -> Option<Call> {
        let EventKind::Syscall { number, arguments } = &event.kind else { return None };
        let name = syscalls::name(*number);
        let object = arguments.first().and_then(|&argument| syscalls::object(&name, argument));
        let file = match (object, event.thread) {
            (Some(Object::FileDescriptor(number)), Some(thread)) => files.opened(thread, number, event.time),
            _ => None,
        };
        let operation = arguments.get(1).filter(|_| name == "futex").map(|&word| FutexOperation::of(word));
        let timeout = syscalls::timeout(&name, arguments);
        let is_for_time = syscalls::watches_no_file(&name, arguments);
        let is_for_file_lock = syscalls::awaits_file_lock(&name, arguments);
        let record = Some(Evidence::record(event.offset, event.cpu, describe(&event.kind)));
        Some(Call { name, object, file, operation, timeout, is_for_time, is_for_file_lock, record })
    }

    /// `on fd 7 (/srv/db)`: the descriptor that it works on.
    pub(crate) fn descriptor(&self) -> Option<String> {
        let object = self.object.filter(|object| matches!(object, Object::FileDescriptor(_)))?;
        let file = self.file.as_ref().map(|file| format!(" ({file})")).unwrap_or_default();
        Some(format!("on {object}{file}"))
    }

    /// `in futex(FUTEX_WAIT) on futex 0xbeef`, `in read() on fd 7 (/srv/db)`, `in epoll_wait() on fd 5 for at most 10 ms`.
    pub(crate) fn tell(&self) -> String {
        let operation = self.operation.map(|operation| operation.to_string()).unwrap_or_default();
        let object = self.object.map(|object| format!(" on {object}")).unwrap_or_default();
        let timeout = self.timeout.map(|ms| format!(" for at most {ms} ms")).unwrap_or_default();
        let file = self.file.as_ref().map(|file| format!(" ({file})")).unwrap_or_default();
        format!("in {}({operation}){object}{file}{timeout}", self.name)
    }

    /// What a thread that sleeps in this call waits for, and in words; `None` where the name does not show it.
    pub(crate) fn waits_for(&self) -> Option<(OffCpu, &'static str)> {
        let of_file = self.is_for_file_lock.then_some((OffCpu::Lock, "for a file lock"));
        of_file.or_else(|| syscalls::waits_for(&self.name))
    }
}
