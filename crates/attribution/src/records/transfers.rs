//! What a thread read and wrote, call by call: descriptor, bytes, direction.
//!
//! Input: its `sys_enter` and `sys_exit` records. The descriptor is the first argument, the bytes are the result.

use model::{Tid, Tsc, TscRange};

use crate::records::endpoints::{Call, Descriptors, Endpoint};
use crate::records::event::{EventKind, Side};
use crate::records::sideband::Sideband;
use crate::tables::syscalls::Transferring;

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
                let call = |argument| (event.time, Call { number: *number, argument });
                calls.open = first.map(call);
            }
            Side::End => {
                let begun = calls.open.take().filter(|(_, call)| call.number == *number);
                if let Some((since, call)) = begun {
                    calls.returned(since, call, event.time, first.map_or(0, u64::cast_signed));
                }
            }
        }
    }
    calls.finish(until)
}

/// Goes through a thread's calls.
#[derive(Default)]
struct Calls {
    done: Vec<Transfer>,
    /// The call that it is in, and since when.
    open: Option<(Tsc, Call)>,
    descriptors: Descriptors,
}

impl Calls {
    fn returned(&mut self, since: Tsc, call: Call, at: Tsc, result: i64) {
        let Some((descriptor, direction)) = call.transfer() else {
            self.descriptors.returned(call, result);
            if let Some(descriptor) = call.connects() {
                let (range, endpoint) = (TscRange::new(since, at), self.descriptors.endpoint(descriptor));
                self.done.push(Transfer { range, endpoint, direction: Transferring::Out, bytes: 0 });
            }
            return;
        };
        let bytes = u64::try_from(result).unwrap_or(0);
        if bytes > 0 {
            let (range, endpoint) = (TscRange::new(since, at), self.descriptors.endpoint(descriptor));
            self.done.push(Transfer { range, endpoint, direction, bytes });
        }
    }

    /// The transfers; the last of them goes on at `until` where its call has not returned.
    fn finish(mut self, until: Tsc) -> Vec<Transfer> {
        if let Some((since, call)) = self.open.take()
            && let Some((descriptor, direction)) = call.transfer()
        {
            let (range, endpoint) = (TscRange::new(since, until), self.descriptors.endpoint(descriptor));
            self.done.push(Transfer { range, endpoint, direction, bytes: 0 });
        }
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::endpoints::EndpointKind::{self, Accepted, Connected, File, Unknown};
    use crate::testing::script::{WORKER, record};

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
        let kind = |argument: u64| EventKind::Syscall { number, arguments: vec![argument].into() };
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
            endpoint: Descriptors::default().endpoint(7),
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
        let accepted = Accepted { listening: 3 };
        assert_eq!(kinds, [Unknown, File, accepted, accepted, Connected, Connected]);
        assert_eq!(found[2].endpoint, found[3].endpoint);
        let mut of_no_kind = found[2].endpoint;
        of_no_kind.kind = Unknown;
        assert_ne!(found[0].endpoint, of_no_kind);
    }
}
