//! One interval becomes exclusive segments with causes.
//!
//! [`examine()`] follows the interval's threads through schedule, records and decoded flow and lets precedence decide
//! each tick; [`attribute`] compares an outlier's user code with its baselines'. The model: `docs/attribution.md`.

mod asked;
mod call_path;
mod calls;
mod claim;
mod collectors;
mod compare;
mod contradictions;
mod cpu_models;
mod during;
mod entries;
mod examine;
mod files;
mod follow;
mod front_end;
mod functions;
mod hand_off;
mod kernel;
mod late_switches;
mod losses;
mod memory;
mod offcpu;
mod partition;
mod power;
mod precedence;
mod queue;
#[cfg(test)]
mod script;
mod segments;
mod sideband;
mod silences;
mod spin;
mod syscalls;
mod timeline;
mod unrecorded;
mod untraced;
mod view;
mod waits;
mod waker;
mod walk;

pub use calls::calls;
pub use compare::{attribute, attribute_alone};
pub use cpu_models::CodeCaches;
pub use examine::{Capture, Examined, examine, examine_baseline};
pub use follow::Decode;
pub use functions::{Function, Functions};
pub use hand_off::HandOff;
pub use memory::{Accessed, MemoryAccess, MemoryAccesses, memory_accesses, memory_is_sampled};
pub use offcpu::Comms;
pub use queue::Queues;
pub use timeline::{Stay, Whereabouts, runs_on, stays};
pub use view::{Access, Direction, ObjectWait, WaitObject, accesses, ran_on, wait_of_stay};
