//! The kernel's changes to its own code: what stood at a poked byte at a given time.
//!
//! Input: `TEXT_POKE` events in order of time. Output: a byte's value at a time. Before the first poke of a byte its
//! `old_bytes` hold, whatever the image says: the image (kcore) is a copy of some moment.

use std::ops::Range;

use model::{MapEvent, Tsc};

use crate::timeline::KERNEL_HALF;

/// One change of one byte.
#[derive(Clone, Copy, Debug)]
struct Poke {
    address: u64,
    at: Tsc,
    /// `None` where the code did not exist before (a new trampoline).
    old: Option<u8>,
    /// `None` where the code went away.
    new: Option<u8>,
}

/// All poked bytes.
#[derive(Debug, Default)]
pub(crate) struct Pokes {
    /// Ordered by address, then time.
    bytes: Vec<Poke>,
    /// The addresses of `bytes`, adjacent ones merged.
    holes: Vec<Range<u64>>,
}

impl Pokes {
    /// Gathers the `TEXT_POKE` events of `events`.
    pub(crate) fn new(events: &[(Tsc, MapEvent)]) -> Pokes {
        let mut bytes = Vec::new();
        for (at, event) in events {
            if let MapEvent::TextPoke { address, old_bytes, new_bytes } = event {
                bytes.extend(poked_bytes(*at, *address, old_bytes, new_bytes));
            }
        }
        bytes.sort_by_key(|poke| (poke.address, poke.at));
        let mut holes: Vec<Range<u64>> = Vec::new();
        for poke in &bytes {
            match holes.last_mut() {
                Some(hole) if poke.address <= hole.end => hole.end = hole.end.max(poke.address + 1),
                _ => holes.push(poke.address..poke.address + 1),
            }
        }
        Pokes { bytes, holes }
    }

    /// The first hole that ends above `address`.
    pub(crate) fn hole_from(&self, address: u64) -> Option<&Range<u64>> {
        self.holes.get(self.holes.partition_point(|hole| hole.end <= address))
    }

    /// The byte at `address` at `at`; `None` where the image has it.
    pub(crate) fn byte(&self, address: u64, at: Tsc) -> Option<u8> {
        let next = self.bytes.partition_point(|poke| (poke.address, poke.at) <= (address, at));
        let before =
            next.checked_sub(1).and_then(|index| self.bytes.get(index)).filter(|p| p.address == address);
        match before {
            Some(poke) => poke.new,
            None => self.bytes.get(next).filter(|poke| poke.address == address).and_then(|poke| poke.old),
        }
    }
}

fn poked_bytes<'a>(at: Tsc, address: u64, old: &'a [u8], new: &'a [u8]) -> impl Iterator<Item = Poke> + 'a {
    let length = if address < KERNEL_HALF { 0 } else { old.len().max(new.len()) };
    (address..u64::MAX).zip(0..length).map(move |(address, index)| Poke {
        address,
        at,
        old: old.get(index).copied(),
        new: new.get(index).copied(),
    })
}

#[cfg(test)]
mod tests;
