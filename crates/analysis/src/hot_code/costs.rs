//! What each block of processes cost.
//!
//! Input: blocks as they run. Output: a number for each, under which its cost is found without a search: a flow has the same few thousand
//! blocks millions of times.

use std::collections::HashMap;

use model::Pid;

use super::cost::{Cost, Span};

/// Blocks that are found at once: a power of two.
const RECENT: usize = 1 << 12;

/// A block of a process.
pub(super) type Place = (Pid, Span);

/// The costs of the blocks of processes.
#[derive(Debug)]
pub(super) struct Costs {
    all: Vec<(Place, Cost)>,
    numbers: HashMap<Place, usize>,
    /// By some bits of their addresses: the numbers of blocks met lately.
    recent: Vec<usize>,
}

impl Costs {
    /// No block yet.
    pub(super) fn new() -> Costs {
        Costs { all: Vec::new(), numbers: HashMap::new(), recent: vec![usize::MAX; RECENT] }
    }

    /// The number of the block at `place`, which has one from now on.
    pub(super) fn number(&mut self, place: Place) -> usize {
        let (_, span) = place;
        #[allow(clippy::cast_possible_truncation)] // A hash.
        let slot = (span.first ^ span.first >> 12 ^ span.last << 4) as usize % RECENT;
        let recent = self.recent[slot];
        if self.all.get(recent).is_some_and(|(known, _)| *known == place) {
            return recent;
        }
        let number = *self.numbers.entry(place).or_insert(self.all.len());
        if number == self.all.len() {
            self.all.push((place, Cost::default()));
        }
        self.recent[slot] = number;
        number
    }

    /// The cost of the block with this number, which [`Self::number`] gave.
    pub(super) fn of(&mut self, number: usize) -> &mut Cost {
        &mut self.all[number].1
    }

    /// The block with this number.
    pub(super) fn span(&self, number: usize) -> Span {
        self.all[number].0.1
    }

    /// All blocks with their costs, as they were met.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Place, Cost)> {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More blocks than are found at once, some in the same slot, two processes with the same addresses, and blocks of different lengths
    /// at one address: each has one number, and the number leads to it.
    #[test]
    fn a_block_has_one_number() {
        let places: Vec<Place> = (0..3 * RECENT as u64)
            .flat_map(|at| [1, 2].map(|pid| (pid, at)))
            .flat_map(|(pid, at)| {
                [3, 9].map(|length| {
                    let first = 0x40_0000 + at * 16;
                    (Pid(pid), Span { first, last: first + length, instructions: 2 })
                })
            })
            .collect();
        let mut costs = Costs::new();
        let numbers: Vec<usize> = places.iter().map(|&place| costs.number(place)).collect();
        assert_eq!(numbers, (0..places.len()).collect::<Vec<_>>());
        for (number, &place) in places.iter().enumerate().rev() {
            assert_eq!((costs.number(place), costs.span(number)), (number, place.1));
            costs.of(number).executions += 1;
        }
        assert!(
            costs.iter().zip(&places).all(|((known, cost), place)| known == place && cost.executions == 1)
        );
    }
}
