//! Hop after hop where only sums are wanted and nothing is out of the ordinary: what nearly all of a trace is.
//!
//! ```text
//! TNT 1 0 1 1     hop ─1→ hop ─0→ hop ─1→ hop      one look at a hop for each bit
//! TIP             hop ─→ the block at the target
//! CYC, MTC        the time moves on, as far as nothing happens at it (quiet)
//! ```
//!
//! It does what [`super::ride`] does hop by hop, with all that is needed at hand, and ends where something else comes:
//! another packet, a hop that is not known. At a time at which a thread or an image may change, or where the window
//! begins or ends, all is put back for a moment. Source: Intel SDM vol. 3, "Intel Processor Trace", "TNT Packet", "TIP Packet".

use model::Tsc;

use super::ride::keep_calls;
use super::steps::back_to;
use super::{Stop, Walk};
use crate::native::blocks::{CodeMap, Hop, NONE, Turn};
use crate::native::cues::Next;
use crate::native::returns::Returns;

/// What a glide has at hand; the walk's own fields are of when it began or landed last.
pub(super) struct Glide {
    pub(super) next: Next,
    pub(super) reading: Option<u64>,
    pub(super) ticked: Option<u64>,
    pub(super) quiet: Quiet,
    /// The hop at hand; [`NONE`] where it is not known.
    pub(super) here: u32,
    /// The hop followed last, if any was.
    pub(super) last: u32,
    pub(super) instructions: u64,
    /// How many instructions the walk's limit leaves.
    pub(super) budget: u64,
    /// The time before the one at hand, if that is of a branch to come.
    pub(super) ahead_of: Option<Tsc>,
    /// How many bytes of the stretch were passed over, and how many the cue at hand needs, if it was read in this glide.
    pub(super) at: usize,
    pub(super) needs: Option<usize>,
    /// The instruction of the hop at hand up to which, and it, execution came; see [`super::passing`].
    pub(super) within: Option<u64>,
}

/// Readings of the clock at which nothing happens but that the time moves on.
#[derive(Clone, Copy)]
pub(super) struct Quiet {
    /// The reading now.
    pub(super) now: u64,
    /// The first that is not quiet; not above `now` where none is.
    pub(super) end: u64,
    /// What makes a reading a time.
    offset: u64,
}

impl Quiet {
    const NONE: Quiet = Quiet { now: u64::MAX, end: 0, offset: 0 };

    #[inline]
    fn time(&self) -> Tsc {
        Tsc(self.now.wrapping_add(self.offset))
    }

    #[inline]
    pub(super) fn holds(&self, reading: u64) -> bool {
        self.now <= reading && reading < self.end
    }
}

impl Glide {
    /// Whether nothing happens at the time of the cue at hand.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.reading.is_some_and(|reading| self.quiet.holds(reading))
    }

    /// The time of the cue at hand, a quiet one, is now. With `ahead` its branch is yet to come.
    #[inline]
    fn move_on(&mut self, ahead: bool) {
        let Some(reading) = self.reading else { return };
        self.ahead_of = (ahead && self.quiet.now < reading).then(|| self.quiet.time());
        self.quiet.now = reading;
        self.ticked = self.reading;
    }
}

impl Walk<'_> {
    /// Follows bits and targets until something else comes next, or until what comes must go hop by hop.
    pub(super) fn glide(&mut self) -> Result<(), Stop> {
        let stretch = self.cues.stretch().filter(|_| !self.settling);
        let Some(bytes) = stretch else { return Ok(()) };
        let mut glide = self.lift_off();
        loop {
            let late = glide.reading != glide.ticked;
            let follows_bit = match glide.next {
                Next::Bits { taken, left } => {
                    let Some(late) = self.glide_by_bits(&mut glide, taken, left, late)? else { break };
                    !late
                }
                Next::Target(Some(ip)) => {
                    let Some(by_bit) = self.glide_to(&mut glide, ip) else { break };
                    if late {
                        self.pass_time(&mut glide, false)?;
                    }
                    by_bit && !late
                }
                _ => break,
            };
            if glide.instructions >= glide.budget {
                self.land(&mut glide)?;
            }
            self.unbroken.end();
            glide.ticked = glide.reading;
            let (follows_bit, rest) = self.stride(&mut glide, bytes, follows_bit);
            if let Some(rest) = rest {
                glide.next = Next::of_tnt(rest);
                glide.needs = Some(glide.at);
                continue;
            }
            if glide.instructions >= glide.budget {
                self.land(&mut glide)?;
            }
            if !self.find_next(&mut glide, bytes, follows_bit)? {
                return Ok(());
            }
        }
        self.land(&mut glide)?;
        if let Some(needs) = glide.needs {
            self.cues.pass(glide.at, needs);
            self.at = self.cues.at();
        }
        self.stand();
        self.come_within(&glide)?;
        self.leave_tail()
    }

    /// Takes the next bits or target in hand; false where something else comes, for which all is put back.
    #[inline]
    fn find_next(&mut self, glide: &mut Glide, bytes: &[u8], follows_bit: bool) -> Result<bool, Stop> {
        let mut follows_bit = follows_bit;
        let next = loop {
            let glance = self.cues.glance(bytes, glide.at);
            glide.at = glance.at;
            if glance.next.is_some() {
                glide.needs = Some(glance.needs);
                break glance.next;
            }
            if !self.pass_ptwrite(glide, bytes)? {
                break None;
            }
            follows_bit = false;
        };
        let Some(next) = next else {
            self.land(glide)?;
            self.cues.pass(glide.at, glide.at);
            self.stand();
            self.learn_hop();
            self.come_within(glide)?;
            self.fetch();
            if follows_bit && matches!(self.next, Next::Bits { .. }) && self.reading != self.ticked {
                self.tick(true)?;
            }
            if glide.within.is_some() && self.has_turn() {
                self.leave_tail()?;
            }
            return Ok(false);
        };
        glide.next = next;
        glide.reading = self.cues.timing.reading();
        if follows_bit && matches!(next, Next::Bits { .. }) && glide.reading != glide.ticked {
            self.pass_time(glide, true)?;
        }
        Ok(true)
    }

    /// What a glide from here has at hand.
    pub(super) fn lift_off(&self) -> Glide {
        Glide {
            next: self.next,
            reading: self.reading,
            ticked: self.ticked,
            quiet: self.quiet(),
            here: self.block,
            last: NONE,
            instructions: 0,
            budget: self.limits.instructions.saturating_sub(self.emitter.stats.instructions),
            ahead_of: self.emitter.ahead_of(),
            at: 0,
            needs: None,
            within: None,
        }
    }

    /// Puts back what changed.
    pub(super) fn land(&mut self, glide: &mut Glide) -> Result<(), Stop> {
        (self.next, self.reading, self.ticked) = (glide.next, glide.reading, glide.ticked);
        self.block = glide.here;
        if glide.quiet.end > 0 {
            self.emitter.move_quietly(glide.quiet.time());
        }
        match glide.ahead_of {
            Some(before) => self.emitter.read_ahead(before),
            None => self.emitter.arrive(),
        }
        let instructions = std::mem::take(&mut glide.instructions);
        if glide.last == NONE { Ok(()) } else { self.add(glide.last, instructions) }
    }

    /// Readings up to the next one at which a thread or an image may change, or the window begins or ends.
    fn quiet(&self) -> Quiet {
        /// No quiet time is longer, so that readings do not wrap in it.
        const MOST: u64 = 1 << 40;
        let timing = &self.cues.timing;
        let Some(reading) = timing.reading() else { return Quiet::NONE };
        let now = self.emitter.now();
        let end = self.emitter.quiet_until().min(self.presence.quiet_until()).min(timing.latest());
        let offset = timing.unbounded(reading).0.wrapping_sub(reading);
        let quiet = Quiet { now: now.0.wrapping_sub(offset), end: 0, offset };
        let end = quiet.now.saturating_add(end.0.saturating_sub(now.0).min(MOST));
        let is_straight =
            timing.unbounded(quiet.now) == now && timing.unbounded(end).0.wrapping_sub(offset) == end;
        if end > quiet.now && is_straight { Quiet { end, ..quiet } } else { Quiet::NONE }
    }

    /// The time of the cue at hand is now; see [`Walk::tick`].
    #[inline]
    fn pass_time(&mut self, glide: &mut Glide, ahead: bool) -> Result<(), Stop> {
        if glide.is_quiet() {
            glide.move_on(ahead);
            return Ok(());
        }
        self.pass_eventful_time(glide, ahead)
    }

    #[cold]
    fn pass_eventful_time(&mut self, glide: &mut Glide, ahead: bool) -> Result<(), Stop> {
        self.land(glide)?;
        self.tick(ahead)?;
        let (at, needs) = (glide.at, glide.needs);
        *glide = Glide { at, needs, ..self.lift_off() };
        Ok(())
    }

    /// Follows a TNT, whose time is that of its first branch; with `late` it was not given yet. Returns nothing where not
    /// all bits could be followed, else whether the time came after the last of them.
    #[inline]
    fn glide_by_bits(
        &mut self,
        glide: &mut Glide,
        taken: u64,
        left: u8,
        late: bool,
    ) -> Result<Option<bool>, Stop> {
        let mut rest = left;
        if late && !glide.is_quiet() {
            rest = self.follow_bits(glide, taken, rest, rest - 1);
            if rest == left {
                return Ok(None);
            }
            glide.next = Next::Bits { taken, left: rest };
            self.pass_eventful_time(glide, false)?;
        }
        let first = rest;
        rest = self.follow_bits(glide, taken, rest, 0);
        if rest < first && glide.reading != glide.ticked {
            // Which of these branches the time is of makes no difference to sums.
            glide.move_on(false);
        }
        if rest > 0 {
            glide.next = Next::Bits { taken, left: rest };
            return Ok(None);
        }
        Ok(Some(late && left == 1))
    }

    /// Follows bits of `taken` from `left` of them down to `least`, as far as hops are known; how many are left.
    #[inline]
    fn follow_bits(&mut self, glide: &mut Glide, taken: u64, left: u8, least: u8) -> u8 {
        let (map, returns) = (&*self.map, &mut self.returns);
        let hops = map.hops();
        let (mut number, mut followed) = (glide.here, NONE);
        let mut instructions = 0;
        let mut rest = left;
        // The next bit is the highest.
        let mut bits = taken.checked_shl(64 - u32::from(left)).unwrap_or(0);
        while rest > least {
            let Some(hop) = hops.get(number as usize) else { break };
            let bit = bits >> 63;
            let to = if hop.is_plain {
                hop.links[usize::from(bit != 0)]
            } else {
                match turn_by_bit(map, returns, number, hop, bit != 0) {
                    Some(to) => to,
                    None => break,
                }
            };
            instructions += u64::from(hop.instructions);
            bits <<= 1;
            rest -= 1;
            (followed, number) = (number, to);
        }
        if followed != NONE {
            glide.instructions += instructions;
            (glide.last, glide.here, glide.ahead_of) = (followed, number, None);
            glide.within = None;
            if number == NONE {
                self.arrive_at_unknown(glide, taken >> rest & 1 != 0);
            }
        }
        rest
    }

    /// Follows the hop at hand to the target `ip`; whether its branch is of those that may take a bit, or nothing where
    /// it is not known or needs something else.
    #[inline]
    fn glide_to(&mut self, glide: &mut Glide, ip: u64) -> Option<bool> {
        let (map, returns) = (&*self.map, &mut self.returns);
        let hop = map.hops().get(glide.here as usize)?;
        if !matches!(hop.turn, Turn::Target | Turn::CallTarget | Turn::Return) {
            return None;
        }
        keep_calls(map, returns, glide.here, hop);
        if hop.turn == Turn::CallTarget {
            returns.push(back_to(hop.last, map.block(hop.last)));
        }
        glide.instructions += u64::from(hop.instructions);
        (glide.last, glide.ahead_of, glide.within) = (glide.here, None, None);
        glide.here = map.known_target(ip);
        (self.ip, self.from) = (ip, None);
        Some(hop.turn == Turn::Return)
    }

    /// Bits led to a hop that the last one does not know.
    #[cold]
    fn arrive_at_unknown(&mut self, glide: &mut Glide, taken: bool) {
        let hop = self.map.hops()[glide.last as usize];
        match self.returns.popped() {
            Some(entry) if hop.turn == Turn::Return => self.return_to(entry),
            _ => self.block = self.turn_to(glide.last, &hop, taken),
        }
        glide.here = self.block;
    }
}

/// The hop after `hop`, which has number `here`, calls or returns; nothing where a bit does not say it.
#[inline]
fn turn_by_bit(map: &CodeMap, returns: &mut Returns, here: u32, hop: &Hop, taken: bool) -> Option<u32> {
    match hop.turn {
        Turn::Branch => {
            keep_calls(map, returns, here, hop);
            Some(hop.links[usize::from(taken)])
        }
        Turn::Return if taken => {
            keep_calls(map, returns, here, hop);
            Some(returns.pop()?.block)
        }
        _ => None,
    }
}
