//! One wait by its object: which futex, file descriptor or device, else which call.

use std::fmt;

use model::{Certainty, Cpu, Device, OffCpu, Pid, ThreadId, Ticks, TimeConversion, TscRange};
use perfdata::{LeaveReason, PerfData};

use super::scene::with_scene;
use crate::claims::off_cpu::context::Context;
use crate::claims::off_cpu::wait::{Wait, wait_by_records};
use crate::inputs::files::RecordedFiles;
use crate::inputs::functions::Functions;
use crate::records::event::EventKind;
use crate::records::read::perf_times;
use crate::records::recent::RecentRecords;
use crate::records::sideband::Sideband;
use crate::tables::syscalls::Object;
use crate::threads::stays::{Stay, Whereabouts};
use crate::threads::wakeup::Wakeup;

/// How long before a wait its system call may have begun, in ticks of 1 ms at 4 GHz.
const BEFORE: Ticks = Ticks(4_000_000);
/// How long after it the thread may still record its socket.
const AFTER: Ticks = Ticks(400_000);

/// What a thread waited for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitObject {
    /// A futex word.
    Futex {
        /// The process in whose memory it lies.
        pid: Pid,
        /// The address.
        address: u64,
    },
    /// A file descriptor.
    Descriptor {
        /// The process it belongs to.
        pid: Pid,
        /// Its number.
        number: u32,
        /// What it refers to, where a record has it: the path by which a file was opened, or for a socket the
        /// protocol and both ends ("TCP 10.0.0.1:40000 to 10.0.0.2:80").
        of: Option<String>,
    },
    /// A connection on a descriptor that no record has.
    Connection(String),
    /// A block device.
    Device {
        /// Its number.
        device: Device,
        /// The device's name, where the capture has it.
        name: Option<String>,
    },
    /// An object without a name, within this system call.
    Call(String),
    /// Not recorded.
    Unknown,
}

/// A wait and its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectWait {
    /// What was waited for.
    pub object: WaitObject,
    /// What kind of wait it was.
    pub kind: OffCpu,
    /// How well that is known.
    pub certainty: Certainty,
    /// The thread that waited.
    pub thread: ThreadId,
    /// Until the wake-up; where none is recorded, until the thread ran again. Cut to the interval.
    pub range: TscRange,
    /// The CPU it had left.
    pub cpu: Option<Cpu>,
    /// The CPU of the interrupt or thread that ended it.
    pub ended_on: Option<Cpu>,
    /// The thread that ended it; `None` for an interrupt, or where no record shows it.
    pub ended_by: Option<ThreadId>,
}

/// The wait of `stay`; `None` where the thread did not sleep. `functions` name the callchain with which it left, if its
/// switch record has one.
pub fn wait_of_stay(
    perf: &PerfData,
    recent: &RecentRecords,
    conversion: TimeConversion,
    functions: &dyn Functions,
    stay: &Stay,
) -> Option<ObjectWait> {
    wait_by(&recent.within(perf, around(stay), conversion), perf, conversion, functions, stay)
}

/// The same of one of many that lie close together, in the order of time: their records are read and indexed together.
pub fn wait_of_one_of_many(
    perf: &PerfData,
    recent: &RecentRecords,
    conversion: TimeConversion,
    functions: &dyn Functions,
    stay: &Stay,
) -> Option<ObjectWait> {
    wait_by(&recent.within_dense(perf, around(stay), conversion), perf, conversion, functions, stay)
}

fn wait_by(
    sideband: &Sideband,
    perf: &PerfData,
    conversion: TimeConversion,
    functions: &dyn Functions,
    stay: &Stay,
) -> Option<ObjectWait> {
    let files = RecordedFiles { perf, conversion };
    with_scene(perf.schedule(), conversion, functions, &files, |scene| {
        wait_within(stay, &Context::new(scene, sideband, &[])?)
    })
}

/// How many records [`wait_of_stay`] reads for `stay`.
pub fn records_of_wait(perf: &PerfData, conversion: TimeConversion, stay: &Stay) -> usize {
    perf.count_in(perf_times(around(stay), conversion))
}

/// The time whose records may explain the wait.
fn around(stay: &Stay) -> TscRange {
    let from = stay.left_at.unwrap_or(stay.range.start).before(BEFORE);
    TscRange::new(from, stay.range.stop + AFTER)
}

/// The same by these records.
pub(super) fn wait_within(stay: &Stay, context: &Context<'_>) -> Option<ObjectWait> {
    let Whereabouts::OffCpu(LeaveReason::Slept(state)) = stay.place else { return None };
    let thread = stay.thread?;
    let wakeup = Wakeup::of(stay, context.sideband, context.scene.functions);
    let wait = wait_by_records(stay, state, wakeup.as_ref(), context);
    let until = wakeup.as_ref().map_or(stay.range.stop, |wakeup| wakeup.at);
    Some(ObjectWait {
        object: object(&wait, thread, context.sideband),
        kind: wait.kind,
        certainty: wait.certainty,
        thread,
        range: TscRange::new(stay.range.start, until),
        cpu: stay.left_cpu,
        ended_on: wakeup.as_ref().and_then(|wakeup| wakeup.cpu),
        ended_by: wakeup.and_then(|wakeup| wakeup.thread()),
    })
}

fn object(wait: &Wait, thread: ThreadId, sideband: &Sideband) -> WaitObject {
    if let Some(served) = &wait.request {
        return WaitObject::Device { device: served.request.device, name: served.request.name.clone() };
    }
    let connection = connection(wait, sideband);
    let file = || wait.call.as_ref()?.file.as_deref().map(str::to_owned);
    match (wait.call.as_ref().and_then(|call| call.object), connection, &wait.call) {
        (Some(Object::Futex(address)), ..) => WaitObject::Futex { pid: thread.pid, address },
        (Some(Object::FileDescriptor(number)), connection, _) => {
            WaitObject::Descriptor { pid: thread.pid, number, of: connection.or_else(file) }
        }
        (None, Some(connection), _) => WaitObject::Connection(connection),
        (None, None, Some(call)) => WaitObject::Call(call.name.clone()),
        (None, None, None) => WaitObject::Unknown,
    }
}

/// The connection in the wait's records.
fn connection(wait: &Wait, sideband: &Sideband) -> Option<String> {
    let events = sideband.events();
    wait.evidence.iter().filter_map(|evidence| evidence.file_offset).find_map(|offset| {
        events.iter().filter(|event| event.offset == offset).find_map(|event| match &event.kind {
            EventKind::Socket { connection } => Some(connection.clone()),
            _ => None,
        })
    })
}

impl fmt::Display for WaitObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitObject::Futex { pid, address } => write!(f, "futex {address:#x} of pid {pid}"),
            WaitObject::Descriptor { pid, number, of: None } => write!(f, "fd {number} of pid {pid}"),
            WaitObject::Descriptor { pid, number, of: Some(of) } => {
                write!(f, "fd {number} of pid {pid} ({of})")
            }
            WaitObject::Connection(connection) => f.write_str(connection),
            WaitObject::Device { device, name } => write!(f, "device {}", device.called(name.as_deref())),
            WaitObject::Call(name) => write!(f, "{name}()"),
            WaitObject::Unknown => f.write_str("something not recorded"),
        }
    }
}
