//! What the pages need decoded.

use super::flow::BlockUse;

/// What there is to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Why this interval took its time.
    Explain {
        /// Its index in the source.
        index: usize,
    },
    /// Why this interval and others that are not chosen took their time, for the first page alone.
    Reasons {
        /// The place of the first of them among those whose reasons that page adds up.
        from: usize,
    },
    /// What the time of all intervals is made of.
    MadeOf,
    /// What ran in a stretch of it.
    Flow {
        /// Its index in the source.
        index: usize,
        /// The stretch, from the interval's start, in the report's unit.
        range: (u64, u64),
    },
    /// The code in which most of its time went.
    Code {
        /// Its index in the source.
        index: usize,
    },
    /// A block of its flow in full.
    Block {
        /// Its index in the source.
        index: usize,
        /// The block.
        used: BlockUse,
    },
}
