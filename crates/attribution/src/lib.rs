//! One interval becomes exclusive segments with causes.
//!
//! [`examine`] follows the interval's threads through schedule, records and decoded flow and lets precedence decide
//! each tick; [`attribute`] compares an outlier's user code with its baselines'. The model: `docs/attribution.md`.

mod claim;
mod compare;
mod entries;
mod examine;
mod functions;
mod kernel;
mod offcpu;
mod partition;
mod precedence;
mod segments;
mod sideband;
mod syscalls;
mod timeline;
mod walk;

pub use compare::{attribute, attribute_alone};
pub use examine::{Capture, Decode, Examined, examine};
pub use functions::{Function, Functions};
pub use offcpu::Comms;
pub use timeline::{Stay, Whereabouts, stays};
