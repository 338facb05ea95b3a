//! What the recording lost: records by full buffers, PT bytes by full AUX rings.

use model::{Cpu, FileOffset, PerfTime, ThreadId};

use crate::aux::AuxFlags;
use crate::ordered_records::Records;
use crate::record::Record;

/// What was lost.
// Exhaustive: a kind that a report does not count would go unmentioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// Records of any kind (LOST), those before this one on the CPU.
    Records {
        /// How many.
        count: u64,
    },
    /// Samples (`LOST_SAMPLES`).
    Samples {
        /// How many.
        count: u64,
    },
    /// PT bytes, at or after this piece of the AUX stream.
    Aux {
        /// Position of the piece in the AUX stream.
        aux_offset: u64,
        /// Its length in bytes.
        size: u64,
        /// How: truncated, partial, collision.
        flags: AuxFlags,
    },
}

/// One loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// When it was noticed.
    pub time: Option<PerfTime>,
    /// On which CPU.
    pub cpu: Option<Cpu>,
    /// The thread that was on the CPU then.
    pub thread: Option<ThreadId>,
    /// The record that says so.
    pub offset: FileOffset,
    /// What.
    pub kind: LossKind,
}

/// All losses among `records`, in their order. An overwritten snapshot ring is no loss and not among them.
pub(crate) fn losses(records: Records<'_>) -> Vec<Loss> {
    records
        .without_samples()
        .without_switches()
        .filter_map(|record| {
            let kind = match record.record {
                Record::Lost { lost, .. } => LossKind::Records { count: lost },
                Record::LostSamples { lost } => LossKind::Samples { count: lost },
                Record::Aux { offset, size, flags } if flags.means_loss() => {
                    LossKind::Aux { aux_offset: offset, size, flags }
                }
                _ => return None,
            };
            let (time, cpu, thread, offset) = (record.time, record.cpu, record.thread, record.offset);
            Some(Loss { time, cpu, thread, offset, kind })
        })
        .collect()
}
