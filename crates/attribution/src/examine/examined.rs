//! The result of an examination: exclusive pieces over the interval's range, each with its claim, before comparison.

use std::collections::HashMap;
use std::sync::OnceLock;

use model::{Calls, Cause, Certainty, Diagnostic, Interval, Ticks, Tid, TimeConversion, TscRange};
use pt::GapReason;

use super::returned::Returned;
use crate::claims::claim::Claim;
use crate::claims::partition::Piece;
use crate::claims::spins::loop_of;
use crate::samples::front_end::FrontEndRecords;
use crate::samples::memory::MemoryAccess;
use crate::samples::requested_frequency::RequestedFrequency;
use crate::tables::cpu_models::CodeCaches;
use crate::threads::hand_off::HandOff;
use crate::threads::stays::Stay;
use crate::walk::activity::Run;
use crate::walk::call_path::CallPath;
use crate::walk::kernel_runs::KernelCode;
use crate::walk::string_instructions::StringTime;
use crate::walk::user_code::{NodeKey, UserCode};

/// An interval cut into exclusive pieces, each with its claim.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The interval.
    pub interval: Interval,
    /// Where its thread was.
    pub stays: Vec<Stay>,
    /// With two threads, where the time changes from one's to the other's.
    pub hand_off: Option<HandOff>,
    /// The claims but those of user runs.
    pub(crate) claims: Vec<Claim>,
    /// The user runs: the pieces' indices continue into them after the claims.
    pub(crate) runs: Vec<Run>,
    /// The best certainty with which these are attributed to its threads.
    pub(crate) whose: Certainty,
    /// The user code that ran.
    pub(crate) code: UserCode,
    /// The kernel code that ran.
    pub(crate) kernel: KernelCode,
    /// The frequencies requested where its threads were.
    pub(crate) asked: Vec<RequestedFrequency>,
    /// What the CPU's front end holds, where its model is known.
    pub(crate) caches: Option<CodeCaches>,
    /// What the core's counters show about its front end.
    pub(crate) front_end: FrontEndRecords,
    /// What samples show about the memory that its threads used, in time order.
    pub(crate) memory: Vec<MemoryAccess>,
    /// That some of these are left out.
    pub(crate) cut_memory: Option<Diagnostic>,
    /// The clock, to describe lengths.
    pub(crate) conversion: Option<TimeConversion>,
    /// Exclusive pieces in order, without holes.
    pub(crate) pieces: Vec<Piece>,
    /// Where the thread was at the end of each of its stays on a CPU.
    pub(crate) paths: Vec<CallPath>,
    /// Where marks, trace and records contradict each other about which thread ran.
    pub(crate) contradiction: Option<Diagnostic>,
    /// The iterations of each of its spin-wait loops.
    pub(crate) rounds: HashMap<String, u64>,
    /// The time in single string instructions, in time order.
    pub(crate) strings: Vec<StringTime>,
    /// For which signal each handler ran, and who sent it, in words.
    pub(crate) signals: HashMap<NodeKey, String>,
    /// Who raised and handled exceptions that functions return.
    pub(crate) returned: Returned,
    /// Where the interval is a task's: the threads that ran it, by name.
    pub(crate) workers: HashMap<Tid, String>,
    /// Its call tree, made once: a baseline's is compared with those of several outliers.
    pub(crate) calls: OnceLock<Calls>,
}

impl Examined {
    /// Nothing is known of `interval` yet.
    pub(crate) fn empty(interval: Interval) -> Examined {
        Examined {
            interval,
            stays: Vec::new(),
            hand_off: None,
            claims: Vec::new(),
            runs: Vec::new(),
            whose: Certainty::Measured,
            code: UserCode::default(),
            kernel: KernelCode::default(),
            asked: Vec::new(),
            caches: None,
            front_end: FrontEndRecords::default(),
            memory: Vec::new(),
            cut_memory: None,
            conversion: None,
            pieces: Vec::new(),
            paths: Vec::new(),
            contradiction: None,
            rounds: HashMap::new(),
            strings: Vec::new(),
            signals: HashMap::new(),
            returned: Returned::default(),
            workers: HashMap::new(),
            calls: OnceLock::new(),
        }
    }

    /// The user run that a piece belongs to, if it is user code.
    pub(crate) fn run_of(&self, piece: &Piece) -> Option<&Run> {
        self.runs.get(piece.claim?.checked_sub(self.claims.len())?)
    }

    /// The claim that a piece belongs to, if it is no user code.
    pub(crate) fn claim_of(&self, piece: &Piece) -> Option<&Claim> {
        self.claims.get(piece.claim?)
    }

    /// What samples show about the memory that its threads used, in time order.
    pub fn memory_accesses(&self) -> &[MemoryAccess] {
        &self.memory
    }

    /// When its CPU stalled, in order: no thread's code ran then, whatever the function at which it stalled.
    pub fn stand_stills(&self) -> Vec<TscRange> {
        let stands = |claim: &Claim| matches!(claim.cause, Cause::HardwareGap | Cause::FrequencySwitch);
        let still = self.pieces.iter().filter(|piece| self.claim_of(piece).is_some_and(stands));
        still.map(|piece| piece.range).collect()
    }

    /// What the decoder could not decode, where that lost time of the interval.
    pub fn gaps(&self) -> impl Iterator<Item = &GapReason> {
        let mut won: Vec<usize> = self.pieces.iter().filter_map(|piece| piece.claim).collect();
        won.sort_unstable();
        won.dedup();
        won.into_iter().filter_map(|claim| self.claims.get(claim)?.gap.as_ref())
    }

    /// Whether marks, trace and records agree about which thread ran.
    pub fn is_consistent(&self) -> bool {
        self.contradiction.is_none()
    }

    /// How much of it the trace lacks: lost, overwritten, or on a CPU that was not traced.
    pub fn untraced(&self) -> Ticks {
        let lost = |piece: &&Piece| self.claim_of(piece).is_some_and(|claim| claim.cause == Cause::TraceLoss);
        Ticks(self.pieces.iter().filter(lost).map(|piece| piece.range.ticks().0).sum())
    }

    /// The spin-wait loops with their ticks, piece by piece.
    pub(crate) fn spins(&self) -> Vec<(&str, u64)> {
        let of_piece = |piece: &Piece| {
            let claim = self.claim_of(piece).filter(|claim| claim.cause == Cause::UserSpin)?;
            Some((loop_of(&claim.detail), piece.range.ticks().0))
        };
        self.pieces.iter().filter_map(of_piece).collect()
    }

    /// What a reader must know beside the segments: whose time the interval is, where that is not plain; where trace
    /// and records contradict each other about which thread ran; and what exceeded a limit and is not counted.
    pub fn remarks(&self) -> Vec<Diagnostic> {
        let hand_off = HandOff::remark(&self.interval, self.hand_off.as_ref());
        hand_off.into_iter().chain(self.contradiction.clone()).chain(self.cut_memory.clone()).collect()
    }
}
