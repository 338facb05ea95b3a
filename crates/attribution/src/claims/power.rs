//! The exit from an idle state by the packets of the woken CPU: from the wake-up to the first instruction.
//!
//! Input: waits with their wake-ups, and the flow of the CPU on which the thread runs next. PWRX names the state and
//! precedes the first instruction (SDM vol. 3, "PWRX packet"). Where the trace holds none, the claims from `cpu_idle`
//! records remain, but end with the first instruction: the record comes after the interrupt that woke the CPU.

use std::ops::ControlFlow;

use model::{Cause, Certainty, Cpu, Evidence, OffCpu, Pid, Ticks, Tsc, TscRange};
use perfdata::LeaveReason;
use pt::{Block, BlockEnd, EventKind, FlowItem, FlowSink};

use crate::claims::claim::Claim;
use crate::claims::precedence::Rank;
use crate::inputs::decode::Decode;
use crate::inputs::functions::Functions;
use crate::records::sideband::Sideband;
use crate::threads::stays::{Stay, Whereabouts};
use crate::threads::wakeup::Wakeup;

/// How many wake-ups of one interval are examined: each needs a decoded window.
const MOST: usize = 64;

/// The HLT instruction (SDM vol. 2): one byte.
const HLT: u8 = 0xf4;

/// Adds the exits from idle states shown by packets to `claims`, in place of those shown by records.
pub(crate) fn add_exits(
    claims: &mut Vec<Claim>,
    stays: &[Stay],
    sideband: &Sideband,
    functions: &dyn Functions,
    decoder: &mut dyn Decode,
) {
    let mut left = MOST;
    for pair in stays.windows(2) {
        let [wait, next] = pair else { continue };
        let (Whereabouts::OffCpu(LeaveReason::Slept(_)), Whereabouts::OnCpu(cpu)) = (wait.place, next.place)
        else {
            continue;
        };
        let Some(wakeup) = Wakeup::of(wait, sideband, functions) else { continue };
        let queue = TscRange::new(wakeup.at, wait.range.stop);
        if queue.is_empty() || left == 0 {
            continue;
        }
        left -= 1;
        let of_records = |claim: &Claim| claim.bid.rank == Rank::IdleExit && claim.range().overlaps(queue);
        let gone_idle = claims.iter().find(|claim| of_records(claim)).map(|claim| claim.range().start);
        let mut waking = Waking::new(queue.start, gone_idle, functions);
        let Some(thread) = wait.thread else { continue };
        decoder.decode(Some(cpu), thread, queue, &mut waking);
        if let Some(mut claim) = waking.claim(cpu, queue) {
            claims.retain(|other| !of_records(other));
            claim.evidence.push(wakeup.evidence);
            claims.push(claim);
        } else if waking.hlt == Hlt::Before {
            claims.retain(|other| !of_records(other));
        } else if let Some(first) = waking.first() {
            claims.iter_mut().filter(|claim| of_records(claim)).for_each(|claim| first.end(claim, cpu));
        } else {
            continue;
        }
        // The run-queue wait begins where the exit ends, and the packet gives that time now.
        let runnable = Cause::OffCpu(OffCpu::Runnable);
        for claim in claims.iter_mut().filter(|claim| claim.cause == runnable && claim.range() == queue) {
            claim.uncertainty = Ticks(0);
        }
    }
}

/// What the flow of a CPU shows of its wake-up.
struct Waking<'a> {
    functions: &'a dyn Functions,
    /// It was idle at this time, or entered idle then.
    asleep_at: Tsc,
    /// Whether it was awake when it was woken: it continues until it halts.
    runs_on: bool,
    /// The time of the last block.
    now: Tsc,
    exit: Option<Exit>,
    /// The first block.
    first: Option<First>,
    /// What ran after the longest time without an instruction, up to the first interrupt.
    longest: Option<First>,
    /// An interrupt arrived: it ended the idle state, unless something else had before.
    interrupted: bool,
    hlt: Hlt,
    /// The block before returned from an interrupt.
    returning: bool,
}

/// When HLT ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hlt {
    /// Not known.
    Unseen,
    /// After the wake-up: an interrupt is what ran first.
    Then(First),
    /// Before it: an interrupt went back to what follows HLT.
    Before,
}

/// The first instruction of a CPU that was idle.
#[derive(Clone, Copy, PartialEq, Eq)]
struct First {
    /// Since when nothing had run.
    since: Tsc,
    at: Tsc,
    aux_offset: u64,
}

impl First {
    /// The exit from idle that a record shows ends here.
    fn end(&self, claim: &mut Claim, cpu: Cpu) {
        let range = claim.range();
        if range.contains(self.at) {
            claim.bid.range = TscRange::new(range.start.max(self.since), self.at);
            claim.uncertainty = Ticks(0);
            claim.evidence.push(Evidence::packet(self.aux_offset, Some(cpu), "first instruction of the CPU"));
        }
    }
}

struct Exit {
    at: Tsc,
    last: u8,
    deepest: u8,
    why: &'static str,
    aux_offset: u64,
}

impl FlowSink for Waking<'_> {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        match item {
            FlowItem::Event(event) => {
                if let EventKind::PowerExit { last, deepest, interrupt, store, autonomous } = event.kind {
                    let why = match (interrupt, store, autonomous) {
                        (true, ..) => "an interrupt",
                        (_, true, _) => "a store",
                        (.., true) => "itself",
                        _ => "no recorded reason",
                    };
                    let at = event.time.likely;
                    self.exit = Some(Exit { at, last, deepest, why, aux_offset: event.aux_offset });
                }
                if let EventKind::AsyncBranch { from, .. } = event.kind
                    && event.time.likely > self.asleep_at
                {
                    return self.interrupt(from, event.time.likely, event.aux_offset);
                }
            }
            FlowItem::Block(block) if block.time.likely > self.asleep_at => return self.block(block),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl<'a> Waking<'a> {
    /// For a CPU that was woken at `woken`, and that may have entered idle after that, at `gone_idle` by its records.
    fn new(woken: Tsc, gone_idle: Option<Tsc>, functions: &'a dyn Functions) -> Waking<'a> {
        let asleep_at = gone_idle.map_or(woken, |at| at.max(woken));
        let runs_on = asleep_at > woken;
        Waking {
            functions,
            asleep_at,
            runs_on,
            now: asleep_at,
            exit: None,
            first: None,
            longest: None,
            interrupted: false,
            hlt: Hlt::Unseen,
            returning: false,
        }
    }

    /// An interrupt hits what is at `from`. One that hits other code than HLT may be nested in the one that ended HLT.
    fn interrupt(&mut self, from: u64, at: Tsc, aux_offset: u64) -> ControlFlow<()> {
        let is_first = !self.interrupted;
        let halts = self.halts_before(from, at);
        if is_first || halts {
            let ran = self.ran(at, aux_offset);
            if halts {
                self.hlt = Hlt::Then(ran);
                return ControlFlow::Break(());
            }
        }
        self.interrupted = true;
        self.returning = false;
        ControlFlow::Continue(())
    }

    fn block(&mut self, block: &Block) -> ControlFlow<()> {
        if self.returning && self.halts_before(block.ip, block.time.likely) {
            self.hlt = Hlt::Before;
            return ControlFlow::Break(());
        }
        self.returning = block.end == BlockEnd::FarReturn;
        if self.interrupted {
            self.now = block.time.likely;
        } else {
            self.ran(block.time.likely, block.aux_offset);
        }
        ControlFlow::Continue(())
    }

    fn ran(&mut self, at: Tsc, aux_offset: u64) -> First {
        let ran = First { since: self.now, at, aux_offset };
        self.first.get_or_insert(ran);
        if self.longest.is_none_or(|longest| at.since(self.now) > longest.at.since(longest.since)) {
            self.longest = Some(ran);
        }
        self.now = at;
        ran
    }

    fn halts_before(&self, ip: u64, at: Tsc) -> bool {
        let mut byte = [0];
        self.functions.code_at(Pid::KERNEL, ip.wrapping_sub(1), at, &mut byte) == 1 && byte == [HLT]
    }

    /// The first instruction after the idle state. A CPU that was still entering it, though its record precedes the
    /// wake-up, continued until HLT. Where no instruction shows this, it halted at its longest stretch without an
    /// instruction before an interrupt arrived.
    fn first(&self) -> Option<First> {
        match self.hlt {
            Hlt::Then(interrupt) => Some(interrupt),
            _ if self.runs_on || self.interrupted => self.longest,
            _ => self.first,
        }
    }

    /// From the wake-up to the first instruction, if the CPU left an idle state within `queue`.
    fn claim(&self, cpu: Cpu, queue: TscRange) -> Option<Claim> {
        let exit = self.exit.as_ref().filter(|exit| exit.at > queue.start && exit.at <= queue.stop)?;
        let state = if exit.last > 0 { exit.last } else { exit.deepest };
        if state == 0 {
            return None;
        }
        let awake = self.first().map_or(exit.at, |first| first.at).max(exit.at).min(queue.stop);
        let range = TscRange::new(queue.start, awake);
        let mut claim =
            Claim::new(range, Rank::IdleExit, Cause::CStateExit(format!("C{state}")), Certainty::Measured);
        claim.cpu = Some(cpu);
        claim.occurrence = range.start.0;
        claim.say(&format!("CPU {cpu} was woken by {}", exit.why));
        if exit.deepest > state {
            claim.say(&format!("deepest C{}", exit.deepest));
        }
        claim.evidence.push(Evidence::packet(
            exit.aux_offset,
            Some(cpu),
            format!("PWRX: back from C{state}"),
        ));
        Some(claim)
    }
}

#[cfg(test)]
mod tests;
