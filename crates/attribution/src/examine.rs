//! Examines one interval: where its threads were, what they did there, and which claim wins each tick.
//!
//! Input: the capture and an interval. Output: [`Examined`], exclusive pieces over the interval's range, before
//! comparison: all user code is one kind. Decoding is asked for by [`Decode`], so that tests can script flows.

use std::collections::HashMap;

use model::{Cause, Certainty, Diagnostic, Interval, Ticks, TimeConversion, Tsc, TscRange};
use perfdata::{AskedFrequencies, PerfData, Schedule};
use pt::GapReason;

use crate::asked::{Asked, asked_during};
use crate::call_path::CallPath;
use crate::claim::Claim;
use crate::collectors;
use crate::contradictions;
use crate::cpu_models::CodeCaches;
use crate::during::{During, off_cpu_claims};
use crate::files::{Addresses, Files, NoFiles, RecordedFiles};
use crate::follow::{Decode, claim_of_stall, follow};
use crate::front_end::FrontEndRecords;
use crate::functions::Functions;
use crate::hand_off::HandOff;
use crate::kernel::{claims_of_frames, claims_of_records};
use crate::late_switches;
use crate::losses::add_losses;
use crate::memory::{MemoryAccess, memory_accesses};
use crate::offcpu::Comms;
use crate::partition::{Bid, Piece, partition};
use crate::power;
use crate::precedence::Rank;
use crate::queue::{Queues, claims_of_queue};
use crate::sideband::{Sideband, SidebandEvent, events_within};
use crate::silences::add_silences;
use crate::spin::{claims_of_spins, rounds_of_spins};
use crate::timeline::{Stay, stays_with};
use crate::unrecorded::absences;
use crate::walk::{Activity, Run, UserCode};

/// What examining needs of a capture.
pub struct Capture<'a> {
    /// The records.
    pub perf: &'a PerfData,
    /// Who ran where.
    pub schedule: &'a Schedule,
    /// The bridge to perf's clock; without it no record can be joined with the trace.
    pub conversion: Option<TimeConversion>,
    /// Function names.
    pub functions: &'a dyn Functions,
    /// Thread names.
    pub comms: &'a dyn Comms,
    /// When which thread was done with which interval.
    pub queues: &'a Queues,
    /// Whether the kernel's code was traced, by the PT event's configuration.
    pub kernel_traced: bool,
    /// Whether single threads were traced, each for itself, and not CPUs.
    pub threads_traced: bool,
    /// Time between two neighbouring packets from which on it counts as a stand-still.
    pub stall_threshold: Ticks,
}

/// A capture with its records behind a function, so that tests can write them by hand.
pub(crate) struct Scene<'a> {
    pub(crate) records: &'a dyn Fn(TscRange) -> Vec<SidebandEvent>,
    pub(crate) schedule: &'a Schedule,
    pub(crate) frequencies: &'a AskedFrequencies,
    pub(crate) conversion: Option<TimeConversion>,
    pub(crate) functions: &'a dyn Functions,
    pub(crate) comms: &'a dyn Comms,
    pub(crate) files: &'a dyn Files,
    pub(crate) queues: &'a Queues,
    pub(crate) kernel_traced: bool,
    pub(crate) threads_traced: bool,
    /// Whether switches were to be recorded: then none is left out, where none is recorded.
    pub(crate) switches_recorded: bool,
    pub(crate) stall_threshold: Ticks,
    pub(crate) caches: Option<CodeCaches>,
}

/// How much sideband before a moment may explain what happens then: a begin without its end, in ticks of 1 ms at
/// 4 GHz.
const LOOK_BACK: Ticks = Ticks(4_000_000);

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
    /// The user runs: the pieces' indices go on into them behind the claims.
    pub(crate) runs: Vec<Run>,
    /// How well it is known at best that these are its threads' own.
    pub(crate) whose: Certainty,
    /// The user code that ran.
    pub(crate) code: UserCode,
    /// The frequencies that were asked for where its threads were.
    pub(crate) asked: Vec<Asked>,
    /// What the CPU's front end holds, where its model is known.
    pub(crate) caches: Option<CodeCaches>,
    /// What the core's counters tell of its front end.
    pub(crate) front_end: FrontEndRecords,
    /// What samples tell of the memory that its threads used, in order of time.
    pub(crate) memory: Vec<MemoryAccess>,
    /// That some of these are left out.
    pub(crate) cut_memory: Option<Diagnostic>,
    /// The clock, to say lengths in words.
    pub(crate) conversion: Option<TimeConversion>,
    /// Exclusive pieces in order, without holes.
    pub(crate) pieces: Vec<Piece>,
    /// Where the thread stood at the end of each of its stays on a CPU.
    pub(crate) paths: Vec<CallPath>,
    /// Where marks, trace and records contradict each other about who ran.
    pub(crate) contradiction: Option<Diagnostic>,
    /// How often each of its waiting loops went round.
    pub(crate) rounds: HashMap<String, u64>,
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

    /// What samples tell of the memory that its threads used, in order of time.
    pub fn memory_accesses(&self) -> &[MemoryAccess] {
        &self.memory
    }

    /// When its CPU stood still, in order: nobody's code ran then, whatever function it stands in.
    pub fn stand_stills(&self) -> Vec<TscRange> {
        let stands = |claim: &Claim| matches!(claim.cause, Cause::HardwareGap | Cause::FrequencySwitch);
        let still = self.pieces.iter().filter(|piece| self.claim_of(piece).is_some_and(stands));
        still.map(|piece| piece.range).collect()
    }

    /// What the decoder could not get past, where that cost the interval time.
    pub fn gaps(&self) -> impl Iterator<Item = &GapReason> {
        let mut won: Vec<usize> = self.pieces.iter().filter_map(|piece| piece.claim).collect();
        won.sort_unstable();
        won.dedup();
        won.into_iter().filter_map(|claim| self.claims.get(claim)?.gap.as_ref())
    }

    /// Whether marks, trace and records agree about who ran.
    pub fn is_consistent(&self) -> bool {
        self.contradiction.is_none()
    }

    /// How much of it the trace lacks: lost, overwritten, or of a CPU that was not traced.
    pub fn untraced(&self) -> Ticks {
        let lost = |piece: &&Piece| self.claim_of(piece).is_some_and(|claim| claim.cause == Cause::TraceLoss);
        Ticks(self.pieces.iter().filter(lost).map(|piece| piece.range.ticks().0).sum())
    }

    /// The waiting loops with their ticks, piece by piece.
    pub(crate) fn spins(&self) -> Vec<(&str, u64)> {
        let of_piece = |piece: &Piece| {
            let claim = self.claim_of(piece).filter(|claim| claim.cause == Cause::UserSpin)?;
            Some((&*claim.detail, piece.range.ticks().0))
        };
        self.pieces.iter().filter_map(of_piece).collect()
    }

    /// What a reader must know beside the segments: on whose time the interval was looked at, where that is not
    /// plain; where trace and records contradict each other about who ran; and what was too much to be counted.
    pub fn remarks(&self) -> Vec<Diagnostic> {
        let hand_off = HandOff::remark(&self.interval, self.hand_off.as_ref());
        hand_off.into_iter().chain(self.contradiction.clone()).chain(self.cut_memory.clone()).collect()
    }
}

/// Examines `interval`, and for its longest waits what those did who ended them.
pub fn examine(capture: &Capture<'_>, interval: &Interval, decoder: &mut dyn Decode) -> Examined {
    capture.examine(interval, decoder, During::of_outlier())
}

/// Examines `interval` as a baseline: like [`examine()`], without following who ended its waits.
pub fn examine_baseline(capture: &Capture<'_>, interval: &Interval, decoder: &mut dyn Decode) -> Examined {
    capture.examine(interval, decoder, During::none())
}

impl Capture<'_> {
    fn examine(&self, interval: &Interval, decoder: &mut dyn Decode, mut during: During) -> Examined {
        let examined = self.with_scene(|scene| examine_scene(scene, interval, decoder, &mut during));
        let front_end = FrontEndRecords::of(self.perf, &examined, self.conversion);
        let accesses =
            self.conversion.map(|conversion| memory_accesses(self.perf, examined.stays.iter(), conversion));
        let accesses = accesses.unwrap_or_default();
        let cut_memory = accesses.remark().map(Diagnostic::note);
        Examined { front_end, memory: accesses.kept, cut_memory, ..examined }
    }

    fn with_scene<T>(&self, work: impl FnOnce(&Scene<'_>) -> T) -> T {
        let records = |range| match self.conversion {
            Some(conversion) => events_within(self.perf, range, conversion),
            None => Vec::new(),
        };
        let recorded = self.conversion.map(|conversion| RecordedFiles { perf: self.perf, conversion });
        work(&Scene {
            records: &records,
            schedule: self.schedule,
            frequencies: self.perf.asked_frequencies(),
            conversion: self.conversion,
            functions: self.functions,
            comms: self.comms,
            files: recorded.as_ref().map_or(&NoFiles, |files| files),
            queues: self.queues,
            kernel_traced: self.kernel_traced,
            threads_traced: self.threads_traced,
            switches_recorded: self.perf.asks_for_switches() || self.schedule.tells_switches(),
            stall_threshold: self.stall_threshold,
            caches: self.perf.features().cpu_id.as_deref().and_then(CodeCaches::of),
        })
    }
}

pub(crate) fn examine_scene(
    scene: &Scene<'_>,
    interval: &Interval,
    decoder: &mut dyn Decode,
    during: &mut During,
) -> Examined {
    let around = TscRange::new(interval.range.start.before(LOOK_BACK), interval.range.stop);
    let sideband = Sideband::new((scene.records)(around));
    let queue = scene.queues.before(interval);
    let by_records = HandOff::of(interval, &sideband);
    let Time { hand_off, mut stays, activity, uncovered } =
        follow_interval(scene, interval, by_records, queue.last().map(|&(until, _)| until), decoder);
    late_switches::bound_by_flow(&mut stays, &activity.frames, scene, decoder);
    let sideband = sideband.with(events_before_waits(scene, &stays, around));
    let addresses = Addresses { stays: &stays, files: scene.files };
    let mut claims = claims_of_frames(&activity.frames, &sideband, &addresses, scene.comms, &activity.paths);
    claims.extend(claims_of_records(&sideband, &stays, &claims));
    claims.extend(off_cpu_claims(scene, &stays, &sideband, &activity, decoder, during));
    collectors::name_waits(&mut claims, &stays, &activity.paths, &sideband, scene);
    power::add_exits(&mut claims, &stays, &sideband, scene.functions, decoder);
    claims.extend(activity.stalls.iter().map(claim_of_stall));
    add_silences(&mut claims, &activity.silences, &sideband, &addresses, scene);
    claims.extend(uncovered);
    add_losses(&mut claims, &stays, &sideband);
    claims.extend(claims_of_spins(&activity.spins));
    let from = hand_off.as_ref().map_or(interval.range.start, |hand_off| hand_off.at);
    let mut behind = claims_of_queue(interval, from, &queue, &stays, &activity);
    follow_queue(scene, interval, &mut behind, decoder, during);
    claims.extend(behind);
    let pieces = cut(interval.range, &claims, &activity.runs);
    let rounds = rounds_of_spins(&activity.spins);
    let contradiction = contradictions::find(interval, &stays, scene.schedule, scene.conversion);
    Examined {
        interval: interval.clone(),
        asked: asked_during(&stays, scene.frequencies, scene.conversion),
        stays,
        hand_off,
        claims,
        runs: activity.runs,
        whose: scene.whose(),
        code: activity.code,
        caches: scene.caches,
        front_end: FrontEndRecords::default(),
        memory: Vec::new(),
        cut_memory: None,
        conversion: scene.conversion,
        pieces,
        paths: activity.paths,
        contradiction,
        rounds,
    }
}

/// Whose time an interval is, and what they did.
struct Time {
    hand_off: Option<HandOff>,
    stays: Vec<Stay>,
    activity: Activity,
    uncovered: Vec<Claim>,
}

/// Follows the interval's threads. The stop thread was `busy` with others until then; where it was not, so that it could
/// wait, and no record tells the hand-off, its flow may, and the threads are followed once more.
fn follow_interval(
    scene: &Scene<'_>,
    interval: &Interval,
    hand_off: Option<HandOff>,
    busy: Option<Tsc>,
    decoder: &mut dyn Decode,
) -> Time {
    let busy = interval.stop_thread.zip(busy);
    let mut follow_with = |hand_off: Option<HandOff>| {
        let stays = stays_with(interval, hand_off.as_ref(), scene.schedule, scene.conversion);
        let (activity, uncovered) = follow(scene, &stays, busy, decoder);
        let Some(stays) = absences(interval, &stays, &activity, scene) else {
            return Time { hand_off, stays, activity, uncovered };
        };
        let (activity, uncovered) = follow(scene, &stays, busy, decoder);
        Time { hand_off, stays, activity, uncovered }
    };
    let time = follow_with(hand_off);
    if time.hand_off.is_some() || busy.is_some() {
        return time;
    }
    match HandOff::by_spin(interval, &time.activity.spins) {
        Some(by_spin) => follow_with(Some(by_spin)),
        None => time,
    }
}

/// Below the longest time behind another interval: what the stop thread did then.
fn follow_queue(
    scene: &Scene<'_>,
    interval: &Interval,
    behind: &mut [Claim],
    decoder: &mut dyn Decode,
    during: &mut During,
) {
    let longest = behind.iter_mut().max_by_key(|claim| claim.range().ticks());
    if let (Some(claim), Some(thread)) = (longest, interval.stop_thread)
        && let Some((segments, _)) = during.of_thread(scene, claim.range(), thread, decoder)
    {
        claim.during = segments;
    }
}

/// A thread that sleeps when the interval begins went to sleep long before it, maybe: what it called then.
fn events_before_waits(scene: &Scene<'_>, stays: &[Stay], around: TscRange) -> Vec<SidebandEvent> {
    let mut events = Vec::new();
    let mut seen = None;
    for left_at in stays.iter().filter_map(|stay| stay.left_at.filter(|&at| at < around.start)) {
        if seen != Some(left_at) {
            events.extend((scene.records)(TscRange::new(left_at.before(LOOK_BACK), left_at)));
            events.retain(|event| event.time < around.start);
            seen = Some(left_at);
        }
    }
    events
}

fn cut(range: TscRange, claims: &[Claim], runs: &[Run]) -> Vec<Piece> {
    let of_run = |run: &Run| Bid { range: run.range, rank: Rank::User, depth: 0 };
    let bids: Vec<Bid> = claims.iter().map(|claim| claim.bid).chain(runs.iter().map(of_run)).collect();
    partition(range, &bids)
}

#[cfg(test)]
mod tests;
