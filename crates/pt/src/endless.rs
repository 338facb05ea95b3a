//! Instructions that need no packet, and code from which none will ever come.
//!
//! Between two packets a decoder's way through the code depends on nothing but the address: one that comes a second time comes for ever.

/// So many instructions without a packet are usual; a circle is looked for after them.
const USUAL: u64 = 512;

/// What ran since the last packet.
#[derive(Default)]
pub(crate) struct Unbroken {
    /// The offset of the packet that was needed last.
    packet: usize,
    /// How many instructions ran since then.
    instructions: u64,
    /// A block's address, to be met again in a circle, and the count of instructions at which another takes its place. The distance
    /// doubles, as Brent's algorithm has it (BIT 20, 1980), so that each circle fits into one in the end.
    mark: Option<u64>,
    next_mark: u64,
}

impl Unbroken {
    /// An event came.
    pub(crate) fn end(&mut self) {
        *self = Unbroken { packet: self.packet, ..Unbroken::default() };
    }

    /// A block of `instructions` at `ip` ran; `packet` is the offset of the packets needed until its end. Whether no packet can ever
    /// follow, or none followed for more than `limit` instructions.
    pub(crate) fn goes_on(
        &mut self,
        packet: usize,
        (ip, instructions): (u64, u32),
        takes_bit: bool,
        limit: u64,
    ) -> bool {
        if packet != self.packet {
            *self = Unbroken { packet, ..Unbroken::default() };
        }
        let circles = self.mark == Some(ip);
        self.instructions += u64::from(instructions);
        if takes_bit {
            // A TNT packet has the directions of several branches.
            (self.mark, self.next_mark) = (None, self.instructions + USUAL);
        } else if self.instructions >= self.next_mark.max(USUAL) {
            (self.mark, self.next_mark) = (Some(ip), 2 * self.instructions);
        }
        circles || self.instructions > limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `blocks`, each with whether it takes a bit, and of two instructions, run until no packet can follow.
    fn until_endless(blocks: impl Iterator<Item = (u64, bool)>, limit: u64) -> Option<usize> {
        let mut unbroken = Unbroken::default();
        let mut blocks = blocks;
        blocks.position(|(ip, takes_bit)| unbroken.goes_on(100, (ip, 2), takes_bit, limit))
    }

    #[test]
    fn circles_of_any_length_are_found() {
        for length in [1, 2, 3, 100, 5000] {
            // 1000 blocks lead to the circle.
            let lead = (0..1000).map(|at| (at, false));
            let circle = (0..100_000).map(|at| (10_000 + at % length, false));
            let found = until_endless(lead.chain(circle), u64::MAX).expect("a circle");
            let most = usize::try_from(1000 + 256 + 6 * length).expect("short");
            assert!((1000..=most).contains(&found), "{found} of {length}");
        }
    }

    #[test]
    fn loops_that_take_directions_from_a_packet_are_none() {
        let branches = (0..100_000).map(|_| (1, true));
        assert_eq!(until_endless(branches, u64::MAX), None);
        let bodies = (0..100_000).map(|at| (at % 300, at % 300 == 7));
        assert_eq!(until_endless(bodies, u64::MAX), None);
        assert_eq!(until_endless((0..1000).map(|at| (at, false)), 1000), Some(500));
    }

    #[test]
    fn packets_and_events_end_it() {
        let mut unbroken = Unbroken::default();
        for packet in 0..10_000 {
            assert!(!unbroken.goes_on(packet, (1, 300), false, 1000));
        }
        for _ in 0..10_000 {
            assert!(!unbroken.goes_on(7, (1, 300), false, 1000));
            unbroken.end();
        }
    }
}
