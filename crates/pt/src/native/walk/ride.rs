//! Hop by hop while bits or targets come next, as far as the map knows hops.
//!
//! ```text
//! TNT 1 0 1 1     hop ─1→ hop ─0→ hop ─1→ hop      sums: one look at a hop for each bit
//! TIP             hop ─→ the block at the target
//! ```
//!
//! It does what [`super::steps`] does block by block, and leaves to it all that is out of the ordinary: code in no
//! section, loops without a packet, deferred targets, contradictions.

use super::steps::{Ran, Took, back_to};
use super::{Stop, Walk};
use crate::native::blocks::{CodeMap, Hop, LOOSE, NONE, Turn};
use crate::native::cues::Next;
use crate::native::returns::{Return, Returns};

/// How far bits led.
struct Rode {
    /// The hop after the last branch; [`NONE`] where it is not known.
    here: u32,
    /// The last hop that was followed, if any was.
    last: u32,
    /// Its bit.
    taken: bool,
    /// Where it returned to, if it was a return.
    entry: Option<Return>,
    /// How many bits are left.
    left: u8,
    instructions: u64,
}

impl Walk<'_> {
    /// Follows bits and targets until something else comes next, or until what comes must go block by block.
    pub(super) fn ride(&mut self) -> Result<(), Stop> {
        if self.open.is_some() {
            return Ok(());
        }
        loop {
            if !self.emitter.wants_blocks() {
                self.ride_sums()?;
            }
            if !self.hop()? {
                return Ok(());
            }
        }
    }

    /// Follows bits and targets over hops that are known, where only sums are wanted.
    fn ride_sums(&mut self) -> Result<(), Stop> {
        while !self.settling {
            // The time of the cue at hand is given after its first branch.
            let late = self.reading != self.ticked;
            let by_bit = match self.next {
                Next::Bits { taken, left } => {
                    let rode = self.ride_bits(taken, left, if late { left - 1 } else { 0 });
                    if rode.last == NONE {
                        break;
                    }
                    let kernel = self.map.hops()[rode.last as usize].kernel;
                    self.arrive(&rode);
                    self.emitter.arrive();
                    self.add(kernel, rode.instructions)?;
                    if late {
                        self.tick(false)?;
                    }
                    if rode.left > 0 {
                        self.next = Next::Bits { taken, left: rode.left };
                        if late || rode.here == NONE {
                            continue;
                        }
                        break;
                    }
                    true
                }
                Next::Target(Some(ip)) => {
                    let Some(by_bit) = self.ride_to(ip)? else { break };
                    if late {
                        self.tick(false)?;
                    }
                    by_bit
                }
                _ => break,
            };
            self.unbroken.end();
            self.fetch();
            if by_bit && !late && matches!(self.next, Next::Bits { .. }) && self.reading != self.ticked {
                self.tick(true)?;
            }
        }
        self.stand();
        Ok(())
    }

    /// Follows bits of `taken` down to `least` of them, as far as hops are known.
    #[inline]
    fn ride_bits(&mut self, taken: u64, left: u8, least: u8) -> Rode {
        let (map, returns) = (&*self.map, &mut self.returns);
        let hops = map.hops();
        let mut rode =
            Rode { here: self.block, last: NONE, taken: false, entry: None, left, instructions: 0 };
        while rode.left > least {
            let Some(hop) = hops.get(rode.here as usize) else { break };
            let bit = taken >> (rode.left - 1) & 1;
            let to = match hop.turn {
                Turn::Branch => {
                    keep_calls(map, returns, rode.here, hop);
                    hop.links[usize::from(bit != 0)]
                }
                Turn::Return if bit != 0 => {
                    keep_calls(map, returns, rode.here, hop);
                    rode.entry = returns.pop();
                    let Some(entry) = rode.entry else { break };
                    entry.block
                }
                _ => break,
            };
            rode.instructions += u64::from(hop.instructions);
            rode.left -= 1;
            (rode.last, rode.taken, rode.here) = (rode.here, bit != 0, to);
        }
        rode
    }

    /// Execution is where bits led.
    #[inline]
    fn arrive(&mut self, rode: &Rode) {
        self.block = rode.here;
        if rode.here == NONE {
            self.arrive_at_unknown(rode);
        }
    }

    #[cold]
    fn arrive_at_unknown(&mut self, rode: &Rode) {
        let hop = self.map.hops()[rode.last as usize];
        match rode.entry {
            Some(entry) if hop.turn == Turn::Return => self.return_to(entry),
            _ => self.block = self.turn_to(rode.last, &hop, rode.taken),
        }
    }

    /// Follows the hop at hand to the target `ip`; whether its branch is of those that may take a bit, or nothing where
    /// it is not known or needs something else.
    #[inline]
    fn ride_to(&mut self, ip: u64) -> Result<Option<bool>, Stop> {
        let (map, returns) = (&*self.map, &mut self.returns);
        let Some(hop) = map.hops().get(self.block as usize) else { return Ok(None) };
        if !matches!(hop.turn, Turn::Target | Turn::CallTarget | Turn::Return) {
            return Ok(None);
        }
        keep_calls(map, returns, self.block, hop);
        if hop.turn == Turn::CallTarget {
            returns.push(back_to(hop.last, map.block(hop.last)));
        }
        let (kernel, instructions) = (hop.kernel, hop.instructions);
        let by_bit = hop.turn == Turn::Return;
        (self.ip, self.from) = (ip, None);
        self.block = map.known_target(ip);
        self.emitter.arrive();
        self.add(kernel, u64::from(instructions))?;
        Ok(Some(by_bit))
    }

    /// Follows one hop; whether that was possible.
    fn hop(&mut self) -> Result<bool, Stop> {
        if !matches!(self.next, Next::Bits { .. } | Next::Target(Some(_))) {
            return Ok(false);
        }
        let number = self.standing()?;
        if number == LOOSE {
            return Ok(false);
        }
        let mut hop = self.map.hops()[number as usize];
        if hop.turn == Turn::Unknown {
            let source = self.source();
            hop = self.map.hop(number, &source);
            if self.numbers_went() {
                self.block = NONE;
                return Ok(false);
            }
        }
        let bit = match self.next {
            Next::Bits { taken, left } => Some(taken >> (left - 1) & 1 != 0),
            _ => None,
        };
        let possible = match hop.turn {
            Turn::Branch => bit.is_some(),
            Turn::Return => bit.is_none_or(|bit| bit && (hop.calls > 0 || !self.returns.is_empty())),
            Turn::Target | Turn::CallTarget => bit.is_none(),
            Turn::Unknown | Turn::Never => false,
        };
        if !possible {
            return Ok(false);
        }
        let ran = if self.emitter.wants_blocks() {
            self.emit_first(number, &hop)?;
            Ran::Block(*self.map.block(hop.last))
        } else {
            Ran::Hop(hop)
        };
        keep_calls(self.map, &mut self.returns, number, &hop);
        let took = self.turn(number, &hop, bit);
        self.after(&ran, took)?;
        Ok(true)
    }

    /// Moves execution to where the branch of `hop` leads, with this bit or to the target at hand.
    #[inline]
    fn turn(&mut self, number: u32, hop: &Hop, bit: Option<bool>) -> Took {
        if let Next::Bits { left, .. } = &mut self.next {
            *left -= 1;
        }
        match (bit, &self.next) {
            (Some(taken), _) if hop.turn == Turn::Branch => {
                (self.ip, _) = self.map.block(hop.last).way(taken);
                let link = hop.links[usize::from(taken)];
                self.block = if link == NONE { self.turn_to(number, hop, taken) } else { link };
                Took::Bit
            }
            (Some(_), _) => {
                if let Some(entry) = self.returns.pop() {
                    self.return_to(entry);
                }
                Took::Bit
            }
            (None, &Next::Target(Some(ip))) => {
                if hop.turn == Turn::CallTarget {
                    self.returns.push(back_to(hop.last, self.map.block(hop.last)));
                }
                self.jump(ip);
                Took::Target
            }
            (None, _) => Took::Nothing,
        }
    }

    /// The block after the branch of `hop`, which it does not know yet; [`NONE`] where the map does not either.
    #[cold]
    fn turn_to(&mut self, number: u32, hop: &Hop, taken: bool) -> u32 {
        let link = self.map.linked(number, taken);
        if link == NONE {
            (self.ip, _) = self.map.block(hop.last).way(taken);
            self.from = Some((hop.last, taken));
        }
        link
    }

    /// Gives the blocks of `hop`, which begins with block `number`, but the last.
    fn emit_first(&mut self, number: u32, hop: &Hop) -> Result<(), Stop> {
        let mut number = number;
        while number != hop.last {
            let block = *self.map.block(number);
            self.emit(&block)?;
            number = block.way_on();
        }
        Ok(())
    }
}

/// Keeps the return addresses of the direct calls in `hop`, which begins with block `number`.
#[inline]
fn keep_calls(map: &CodeMap, returns: &mut Returns, number: u32, hop: &Hop) {
    if hop.calls == 1 {
        returns.push(back_to(hop.call, map.block(hop.call)));
    } else if hop.calls > 1 {
        keep_all_calls(map, returns, number, hop);
    }
}

#[cold]
fn keep_all_calls(map: &CodeMap, returns: &mut Returns, number: u32, hop: &Hop) {
    let mut number = number;
    while number != hop.last {
        let block = map.block(number);
        if block.leaves_address() {
            returns.push(back_to(number, block));
        }
        number = block.way_on();
    }
}
