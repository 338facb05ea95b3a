//! The events of a trace: their numbers, and how many arguments each has (Go's `tracev2.Specs`).

use crate::file::spans::stream::varint;

pub(super) const EVENT_BATCH: u8 = 1;
pub(super) const STACKS: u8 = 2;
pub(super) const STRINGS: u8 = 4;
pub(super) const STRING: u8 = 5;
pub(super) const CPU_SAMPLES: u8 = 6;
pub(super) const FREQUENCY: u8 = 8;
const GO_CREATE_SYSCALL: u8 = 15;
const GO_START: u8 = 16;
const GO_DESTROY: u8 = 17;
const GO_DESTROY_SYSCALL: u8 = 18;
const GO_STOP: u8 = 19;
const GO_BLOCK: u8 = 20;
const GO_SYSCALL_END_BLOCKED: u8 = 24;
const GO_STATUS: u8 = 25;
const USER_TASK_BEGIN: u8 = 40;
const USER_TASK_END: u8 = 41;
const USER_REGION_BEGIN: u8 = 42;
const USER_REGION_END: u8 = 43;
const USER_LOG: u8 = 44;
const GO_SWITCH: u8 = 45;
const GO_SWITCH_DESTROY: u8 = 46;
const GO_STATUS_STACK: u8 = 48;
pub(super) const EXPERIMENTAL_BATCH: u8 = 49;
pub(super) const SYNC: u8 = 50;
pub(super) const CLOCK_SNAPSHOT: u8 = 51;
pub(super) const END_OF_GENERATION: u8 = 52;

/// Statuses of a goroutine that has a thread: it runs, or is in a system call.
const ON_A_THREAD: [u64; 2] = [2, 3];

/// How many arguments the events from 9 on have, the time first.
const ARGUMENTS: [u8; 43] = [
    3, 3, 1, 4, 3, // processors
    4, 2, 3, 1, 1, 3, 3, 4, 3, 1, 1, 4, // goroutines
    3, 1, // the world stops
    2, 3, 2, 2, 2, 3, 2, 2, 1, 2, 2, // garbage collection
    2, 5, 3, 4, 4, 5, // annotations
    3, 3, 4, // coroutines
    5, 0, 0, 4, // status with a stack, two kinds of batches, clock snapshot
];
const FIRST_TIMED: u8 = 9;
const MOST_ARGUMENTS: usize = 5;

/// What concerns tasks, regions and the threads of goroutines. Names are numbers in the generation's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// This goroutine is on a thread: the batch's where none is named.
    Runs {
        goroutine: u64,
        on: Option<u64>,
    },
    /// The thread has no goroutine.
    Leaves,
    TaskBegin {
        task: u64,
        parent: u64,
        name: u64,
    },
    TaskEnd {
        task: u64,
    },
    RegionBegin {
        task: u64,
        name: u64,
    },
    RegionEnd {
        task: u64,
        name: u64,
    },
    Log {
        task: u64,
        name: u64,
        value: u64,
    },
}

/// Arguments of an event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arguments([u64; MOST_ARGUMENTS]);

/// The number of the event at the beginning, its arguments, and what follows.
pub(super) fn timed(bytes: &[u8]) -> Result<(u8, Arguments, &[u8]), String> {
    let (&kind, rest) = bytes.split_first().ok_or("no event")?;
    let count = kind.checked_sub(FIRST_TIMED).and_then(|index| ARGUMENTS.get(usize::from(index)).copied());
    let count =
        count.filter(|count| *count > 0).ok_or_else(|| format!("an event of the unknown kind {kind}"))?;
    let (arguments, rest) = arguments(rest, usize::from(count))?;
    Ok((kind, arguments, rest))
}

/// So many varints, and what follows them.
pub(super) fn arguments(mut bytes: &[u8], count: usize) -> Result<(Arguments, &[u8]), String> {
    let mut arguments = Arguments::default();
    for argument in arguments.0.iter_mut().take(count) {
        (*argument, bytes) = varint(bytes).ok_or("an event that ends within a number")?;
    }
    Ok((arguments, bytes))
}

impl Arguments {
    /// The first: the distance from the event before, in ticks, where the event has a time.
    pub(super) fn first(self) -> u64 {
        self.0[0]
    }

    /// What the event of this number says, where it concerns tasks and regions.
    pub(super) fn event(self, kind: u8) -> Option<Event> {
        let [_, a, b, c, _] = self.0;
        Some(match kind {
            GO_CREATE_SYSCALL | GO_START | GO_SWITCH | GO_SWITCH_DESTROY => {
                Event::Runs { goroutine: a, on: None }
            }
            GO_STATUS | GO_STATUS_STACK if ON_A_THREAD.contains(&c) => {
                Event::Runs { goroutine: a, on: Some(b) }
            }
            GO_DESTROY | GO_DESTROY_SYSCALL | GO_STOP | GO_BLOCK | GO_SYSCALL_END_BLOCKED => Event::Leaves,
            USER_TASK_BEGIN => Event::TaskBegin { task: a, parent: b, name: c },
            USER_TASK_END => Event::TaskEnd { task: a },
            USER_REGION_BEGIN => Event::RegionBegin { task: a, name: b },
            USER_REGION_END => Event::RegionEnd { task: a, name: b },
            USER_LOG => Event::Log { task: a, name: b, value: c },
            _ => return None,
        })
    }
}
