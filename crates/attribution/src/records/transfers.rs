//! What a thread read and wrote, call by call: descriptor, bytes, direction.
//!
//! Input: its `sys_enter` and `sys_exit` records. The descriptor is the first argument, the bytes are the result. A number is used
//! again once it was closed: what it stood for is known by the calls that made it and their order.

use std::collections::HashMap;

use model::{Tid, Tsc, TscRange};

use crate::records::event::{EventKind, Side};
use crate::records::sideband::Sideband;
use crate::tables::syscalls::{self, MakesDescriptor, Object, Transferring};

/// What a descriptor stands for, as far as the thread's own calls show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EndpointKind {
    /// It was made before the recording, by another thread, or by another call.
    Unknown,
    /// A connection that a client opened: from `accept`.
    Accepted,
    /// A connection that the thread opened itself: `connect`.
    Connected,
    /// A file by its name: `open`.
    File,
    /// An eventfd, a timerfd or a signalfd.
    Event,
}

/// One use of a descriptor's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Endpoint {
    pub(crate) descriptor: u32,
    pub(crate) kind: EndpointKind,
    /// Which use of the number it is, from 0.
    made: u32,
}

/// One call that moved bytes, or was still moving them at the end of what was searched; or that opened a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// From its `sys_enter` to its `sys_exit`; to the end of the search where that is later.
    pub(crate) range: TscRange,
    /// Where the bytes came from or went.
    pub(crate) endpoint: Endpoint,
    /// To or from it.
    pub(crate) direction: Transferring,
    /// How many bytes; 0 where the call had not returned, and where it opened a connection.
    pub(crate) bytes: u64,
}

/// The transfers of thread `tid` before `until`, in order; those that moved nothing are left out.
pub(crate) fn transfers(sideband: &Sideband, tid: Tid, until: Tsc) -> Vec<Transfer> {
    let mut calls = Calls::default();
    for event in sideband.calls_of(tid, until) {
        let EventKind::Syscall { number, arguments } = &event.kind else { continue };
        let first = arguments.first().copied();
        match event.side {
            Side::Begin => {
                calls.open = first.map(|argument| Call { since: event.time, number: *number, argument });
            }
            Side::End => {
                let returned = calls.open.take().filter(|call| call.number == *number);
                if let Some(call) = returned {
                    calls.returned(&call, event.time, first.map_or(0, u64::cast_signed));
                }
            }
        }
    }
    calls.finish(until)
}

/// A call that has begun.
struct Call {
    since: Tsc,
    number: u64,
    /// Its first argument.
    argument: u64,
}

impl Call {
    /// Its descriptor, and which way it moves bytes.
    fn transfer(&self) -> Option<(u32, Transferring)> {
        let name = syscalls::name(self.number);
        let direction = syscalls::transfers(&name)?;
        match syscalls::object(&name, self.argument)? {
            Object::FileDescriptor(descriptor) => Some((descriptor, direction)),
            Object::Futex(_) => None,
        }
    }
}

/// Goes through a thread's calls.
#[derive(Default)]
struct Calls {
    done: Vec<Transfer>,
    open: Option<Call>,
    /// What each number stands for; those that were never made in the recording are not in it.
    endpoints: HashMap<u32, Endpoint>,
}

impl Calls {
    fn returned(&mut self, call: &Call, at: Tsc, result: i64) {
        if let Some((descriptor, direction)) = call.transfer() {
            let bytes = u64::try_from(result).unwrap_or(0);
            if bytes > 0 {
                let (range, endpoint) = (TscRange::new(call.since, at), self.endpoint(descriptor));
                self.done.push(Transfer { range, endpoint, direction, bytes });
            }
            return;
        }
        let Some(makes) = syscalls::makes_descriptor(&syscalls::name(call.number)) else { return };
        // The kernel takes the low 32 bits of the register.
        let argument = (call.argument & 0xffff_ffff) as u32;
        let made = u32::try_from(result).ok();
        match makes {
            MakesDescriptor::Accepted => self.make(made, EndpointKind::Accepted),
            MakesDescriptor::File => self.make(made, EndpointKind::File),
            MakesDescriptor::Event => self.make(made, EndpointKind::Event),
            MakesDescriptor::Other => self.make(made, EndpointKind::Unknown),
            // Whether it has succeeded already or goes on in the background.
            MakesDescriptor::Connects => {
                let endpoint = Endpoint { kind: EndpointKind::Connected, ..self.endpoint(argument) };
                self.endpoints.insert(argument, endpoint);
                let range = TscRange::new(call.since, at);
                self.done.push(Transfer { range, endpoint, direction: Transferring::Out, bytes: 0 });
            }
            MakesDescriptor::Closes => self.make(Some(argument), EndpointKind::Unknown),
        }
    }

    /// From now on `descriptor`, if it is one, stands for something else.
    fn make(&mut self, descriptor: Option<u32>, kind: EndpointKind) {
        let Some(descriptor) = descriptor else { return };
        let made = self.endpoint(descriptor).made.saturating_add(1);
        self.endpoints.insert(descriptor, Endpoint { descriptor, kind, made });
    }

    fn endpoint(&self, descriptor: u32) -> Endpoint {
        let unknown = Endpoint { descriptor, kind: EndpointKind::Unknown, made: 0 };
        self.endpoints.get(&descriptor).copied().unwrap_or(unknown)
    }

    /// The transfers; the last of them goes on at `until` where its call has not returned.
    fn finish(mut self, until: Tsc) -> Vec<Transfer> {
        if let Some(call) = self.open.take()
            && let Some((descriptor, direction)) = call.transfer()
        {
            let (range, endpoint) = (TscRange::new(call.since, until), self.endpoint(descriptor));
            self.done.push(Transfer { range, endpoint, direction, bytes: 0 });
        }
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::script::{WORKER, record};

    use EndpointKind::{Accepted, Connected, File, Unknown};

    const READ: u64 = 0;
    const WRITE: u64 = 1;
    const EPOLL_WAIT: u64 = 232;

    fn call(
        begin: u64,
        end: u64,
        number: u64,
        descriptor: u64,
        result: i64,
    ) -> Vec<crate::records::event::SidebandEvent> {
        let kind = |argument: u64| EventKind::Syscall { number, arguments: vec![argument] };
        vec![
            record(begin, 0, WORKER, Side::Begin, kind(descriptor)),
            record(end, 0, WORKER, Side::End, kind(result.cast_unsigned())),
        ]
    }

    /// Of a read that fails, a wait, a read, and a write that goes on at the end, two move bytes.
    #[test]
    fn only_calls_that_move_bytes_are_transfers() {
        let mut events = call(10, 20, READ, 7, -11);
        events.extend(call(30, 40, EPOLL_WAIT, 5, 1));
        events.extend(call(50, 60, READ, 7, 38));
        events.push(call(70, 99, WRITE, 7, 8).remove(0));
        let found = transfers(&Sideband::new(events), WORKER.tid, Tsc(80));
        let transfer = |start, stop, direction, bytes| Transfer {
            range: TscRange::new(Tsc(start), Tsc(stop)),
            endpoint: Endpoint { descriptor: 7, kind: Unknown, made: 0 },
            direction,
            bytes,
        };
        assert_eq!(found, [transfer(50, 60, Transferring::In, 38), transfer(70, 80, Transferring::Out, 0)]);
    }

    /// One number: a connection that was there before, a file, a client's connection, and one to another server.
    #[test]
    fn a_number_that_was_closed_stands_for_something_else() {
        const OPENAT: u64 = 257;
        const CLOSE: u64 = 3;
        const ACCEPT: u64 = 288;
        const SOCKET: u64 = 41;
        const CONNECT: u64 = 42;
        let (ready, in_progress) = (7, -115);
        let calls = [
            (READ, 7, 1),
            (CLOSE, 7, 0),
            (OPENAT, 0, ready),
            (READ, 7, 2),
            (CLOSE, 7, 0),
            (ACCEPT, 3, ready),
            (READ, 7, 3),
            (READ, 7, 4),
            (CLOSE, 7, 0),
            (SOCKET, 2, ready),
            (CONNECT, 7, in_progress),
            (WRITE, 7, 5),
        ];
        let mut events = Vec::new();
        for (at, &(number, descriptor, result)) in (0..).step_by(10).zip(&calls) {
            events.extend(call(at, at + 5, number, descriptor, result));
        }
        let found = transfers(&Sideband::new(events), WORKER.tid, Tsc(1000));
        let kinds: Vec<EndpointKind> = found.iter().map(|one| one.endpoint.kind).collect();
        assert_eq!(kinds, [Unknown, File, Accepted, Accepted, Connected, Connected]);
        assert_eq!(found[2].endpoint, found[3].endpoint);
        assert_ne!(found[0].endpoint, Endpoint { kind: Unknown, ..found[2].endpoint });
    }
}
