//! Hop by hop while bits or targets come next, as far as the map knows hops.
//!
//! ```text
//! TNT 1 0 1 1     hop ─1→ hop ─0→ hop ─1→ hop
//! TIP             hop ─→ the block at the target
//! only sums       as far as it goes by `glide`
//! ```
//!
//! It does what [`super::steps`] does block by block, and leaves to it all that is out of the ordinary: code in no
//! section, loops without a packet, deferred targets, contradictions.

use super::steps::{Ran, Took, back_to};
use super::{Stop, Walk};
use crate::native::blocks::{CodeMap, Hop, LOOSE, NONE, Turn};
use crate::native::cues::Next;
use crate::native::returns::Returns;

impl Walk<'_> {
    /// Follows bits and targets until something else comes next, or until what comes must go block by block.
    pub(super) fn ride(&mut self) -> Result<(), Stop> {
        if self.open.is_some() {
            return Ok(());
        }
        loop {
            if !self.emitter.wants_blocks() {
                self.glide()?;
            }
            if !self.hop()? {
                return Ok(());
            }
        }
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
            Ran::Hop(number, hop)
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
    pub(super) fn turn_to(&mut self, number: u32, hop: &Hop, taken: bool) -> u32 {
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
pub(super) fn keep_calls(map: &CodeMap, returns: &mut Returns, number: u32, hop: &Hop) {
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
