//! What a thread read and wrote, call by call: descriptor, bytes, direction.
//!
//! Input: its `sys_enter` and `sys_exit` records. The descriptor is the first argument, the bytes are the result.

use model::{Tid, Tsc, TscRange};

use crate::records::event::{EventKind, Side};
use crate::records::sideband::Sideband;
use crate::tables::syscalls::{self, Object, Transferring};

/// One call that moved bytes, or was still moving them at the end of what was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// From its `sys_enter` to its `sys_exit`; to the end of the search where that is later.
    pub(crate) range: TscRange,
    /// The descriptor.
    pub(crate) descriptor: u32,
    /// To or from it.
    pub(crate) direction: Transferring,
    /// How many bytes; 0 where the call had not returned.
    pub(crate) bytes: u64,
}

/// The transfers of thread `tid` before `until`, in order; those that moved nothing are left out.
pub(crate) fn transfers(sideband: &Sideband, tid: Tid, until: Tsc) -> Vec<Transfer> {
    let mut done = Vec::new();
    let mut open: Option<(Tsc, u64, u32, Transferring)> = None;
    for event in sideband.calls_of(tid, until) {
        let EventKind::Syscall { number, arguments } = &event.kind else { continue };
        match event.side {
            Side::Begin => open = begun(event.time, *number, arguments),
            Side::End => {
                let Some((since, of, descriptor, direction)) = open.take() else { continue };
                let result = arguments.first().map_or(0, |word| word.cast_signed());
                let bytes = u64::try_from(result).unwrap_or(0);
                if of == *number && bytes > 0 {
                    let range = TscRange::new(since, event.time);
                    done.push(Transfer { range, descriptor, direction, bytes });
                }
            }
        }
    }
    if let Some((since, _, descriptor, direction)) = open {
        done.push(Transfer { range: TscRange::new(since, until), descriptor, direction, bytes: 0 });
    }
    done
}

fn begun(at: Tsc, number: u64, arguments: &[u64]) -> Option<(Tsc, u64, u32, Transferring)> {
    let name = syscalls::name(number);
    let direction = syscalls::transfers(&name)?;
    match syscalls::object(&name, *arguments.first()?)? {
        Object::FileDescriptor(descriptor) => Some((at, number, descriptor, direction)),
        Object::Futex(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            descriptor: 7,
            direction,
            bytes,
        };
        assert_eq!(found, [transfer(50, 60, Transferring::In, 38), transfer(70, 80, Transferring::Out, 0)]);
    }
}
