//! An opened capture, and what its windows are decoded with.
//!
//! Input: a mapped perf.data and where its code is. Output: a [`Capture`] that answers questions about streams, code,
//! schedule, clocks and names; [`Decoders`] over it; a [`Watch`] that counts what they decode.

mod clock_pairs;
mod clocks;
mod code;
mod decode_findings;
mod decoders;
mod facts;
mod kernel_copy;
mod meter;
mod observed_windows;
mod occupants;
mod opened;
mod read_ahead;
mod recorded;
mod streams;
mod topology;
mod utc;
mod watch;
mod window_notes;

pub use decoders::{Decoders, Decoding, chunks};
pub use meter::{Meter, NoMeter, Phase};
pub use opened::Capture;

pub use watch::{Counted, Progress, Watch, Watched};

pub(crate) use clock_pairs::{clock_of, pairs_beside};
pub(crate) use observed_windows::{Observing, SeenWindow};
pub(crate) use read_ahead::{Stretch, trace_size, while_reading_ahead};
pub(crate) use recorded::Recorded;
pub(crate) use topology::Topology;
pub(crate) use window_notes::{StreamKey, key_of};
