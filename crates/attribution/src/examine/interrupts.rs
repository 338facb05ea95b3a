//! What took place during a wait that an interrupt ended: the interrupt's work on the CPU that woke the thread, and
//! before it the device, the timer or the network that caused it.

use model::{Cause, Certainty, Interval, IntervalId, OffCpu, Segment, TscRange};

use crate::claims::claim::Claim;
use crate::claims::kernel::claims_of_records;
use crate::claims::off_cpu::wait::Wait;
use crate::claims::partition::partition;
use crate::claims::precedence::Rank;
use crate::examine::examined::Examined;
use crate::examine::segments::plain;
use crate::inputs::files::NoFiles;
use crate::records::sideband::Sideband;
use crate::tables::timers::{expires_timers, is_timer};
use crate::threads::interrupt_chain::Chain;
use crate::threads::stays::{Stay, Whereabouts};
use crate::threads::wakeup::Wakeup;
use crate::walk::activity::Frame;

/// Names the timers in `segments` by what the CPU of the wake-up did then, by the flow: `work` decodes that, where it is needed.
pub(super) fn name_timers(segments: &mut [Segment], work: impl FnOnce() -> Vec<Frame>) {
    let mut timers = segments.iter_mut().filter(|segment| expires_timers(&segment.cause)).peekable();
    if timers.peek().is_none() {
        return;
    }
    let work = work();
    // The last one to run before the wake-up: a timer's interrupt may serve others first.
    let mut ran = work.iter().rev().flat_map(|frame| &frame.particulars);
    let Some(timer) = ran.find(|words| is_timer(words)) else { return };
    for segment in timers {
        segment.story.object = timer.to_string();
    }
}

/// The partition of `range`, the wait that `wakeup` ended.
pub(super) fn segments(range: TscRange, wakeup: &Wakeup, wait: &Wait, sideband: &Sideband) -> Vec<Segment> {
    let Some(cpu) = wakeup.cpu else { return Vec::new() };
    let chain = Chain::before(cpu, wakeup.at, range, sideband);
    let nothing = (TscRange::new(range.stop, range.stop), range.stop);
    let (work, last) = chain.as_ref().map_or(nothing, |chain| (chain.range, chain.last));
    let stay = |range, place| Stay::new(range, None, place);
    let before = TscRange::new(range.start, work.start);
    let stays: Vec<Stay> = [stay(before, Whereabouts::Unknown), stay(work, Whereabouts::OnCpu(cpu))]
        .into_iter()
        .filter(|stay| !stay.range.is_empty())
        .collect();
    let mut claims = claims_of_records(sideband, &stays, &[], &NoFiles);
    claims.extend(sources(before, nothing_yet(wakeup, wait, chain.as_ref()), wait));
    let cause = wakeup.interrupt().cloned().unwrap_or(Cause::KernelUnknown);
    let rests = [(work.start, last, Cause::KernelUnknown), (last.max(work.start), work.stop, cause)];
    for (occurrence, (start, stop, cause)) in (0..).zip(rests) {
        let rest = TscRange::new(start, stop);
        let mut rest = Claim::new(rest, Rank::Uncovered, cause, Certainty::Inferred);
        rest.occurrence = u64::MAX - occurrence;
        rest.cpu = Some(cpu);
        claims.push(rest);
    }
    let bids: Vec<_> = claims.iter().map(|claim| claim.bid).collect();
    let pieces = partition(range, &bids);
    let interval = Interval::new(IntervalId(0), "", range, None);
    plain(&Examined { stays, claims, pieces, ..Examined::empty(interval) })
}

/// The cause of the interrupt, up to its begin: the request in its queue and in its device, else whatever the wait
/// was for.
fn sources(before: TscRange, nothing_yet: &str, wait: &Wait) -> Vec<Claim> {
    let claim = |range: TscRange, occurrence: u64, detail: &str, certainty| {
        let range = range.intersection(before)?;
        let mut claim = Claim::new(range, Rank::OffCpu, Cause::OffCpu(wait.kind), certainty);
        claim.bid.depth = usize::from(occurrence != 0);
        claim.occurrence = occurrence;
        claim.say(detail);
        Some(claim)
    };
    let mut claims = Vec::new();
    claims.extend(claim(before, 0, nothing_yet, Certainty::Inferred));
    if let Some(served) = &wait.request {
        let issued = served.issued.unwrap_or(served.completed);
        if let Some(inserted) = served.inserted {
            claims.extend(claim(
                TscRange::new(inserted, issued),
                1,
                "in the device's queue",
                Certainty::Measured,
            ));
        }
        let device = format!("the device served the {}", served.request);
        claims.extend(claim(TscRange::new(issued, served.completed), 2, &device, Certainty::Measured));
        for (claim, record) in claims.iter_mut().skip(1).zip(served.evidence.iter().rev()) {
            claim.evidence.push(record.clone());
        }
    }
    claims
}

/// Why nothing woke the thread before, by what began the chain that did: a packet that another thread or a timer sent
/// has not come from outside.
fn nothing_yet(wakeup: &Wakeup, wait: &Wait, chain: Option<&Chain>) -> &'static str {
    let by_timer = wakeup.came_by_timer() || chain.is_some_and(Chain::is_timers);
    match wait.kind {
        OffCpu::Sleep => "its timer had not expired",
        _ if by_timer => "no timer had expired",
        OffCpu::BlockIo => "before the request was submitted to the device",
        OffCpu::Socket | OffCpu::Poll | OffCpu::Other
            if wakeup.came_by_network() && chain.is_some_and(Chain::is_devices) =>
        {
            "idle: no packet had arrived"
        }
        _ if chain.is_some_and(|chain| chain.by_thread) => "no thread had ended it",
        _ => "nothing had ended it",
    }
}
