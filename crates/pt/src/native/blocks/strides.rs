//! What a short TNT does from a hop on, remembered where it comes again.
//!
//! ```text
//! hop 7, TNT 1 0 1 1  ──→ hop 23, 61 instructions                              one look instead of four
//! hop 7, TNT 1 1 0 1  ──→ return, 18 instructions, two bits used: 0 1 is left
//! ```
//!
//! A stride ends with the TNT, or with the first return whose call lies before it, for that leads now here, now there; or
//! where more calls are open than it has room for. It is learnt the second time in a row that one is missed in its slot, so that code which is met once costs next to nothing. It
//! holds for the numbers of blocks, and is forgotten with them.

use super::block::NONE;
use super::{CodeMap, Hop, Turn};

/// Pairs of strides kept, by a hash of hop and TNT.
const STRIDES: usize = 1 << 13;
/// Most calls that are open at a time in a stride of more than one hop.
const MOST_CALLS: usize = 2;

/// What bits do; two to a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(in crate::native) struct Stride {
    key: u64,
    /// How many bits it uses.
    pub(in crate::native) used: u8,
    /// Whether it ends with a return; then [`Stride::to`] says nothing.
    pub(in crate::native) returns: bool,
    /// Most calls that are open at a time before one that returns in it.
    pub(in crate::native) nested: u8,
    /// Whether it is one hop with more calls than have room here: those of [`Stride::last`].
    pub(in crate::native) calls_many: bool,
    /// The hop after it.
    pub(in crate::native) to: u32,
    /// The hop followed last.
    pub(in crate::native) last: u32,
    pub(in crate::native) instructions: u32,
    /// The blocks whose calls are open at its end, and before a return: then [`NONE`].
    pub(in crate::native) calls: [u32; MOST_CALLS],
}

impl Stride {
    /// Whether it changes which calls are open.
    #[inline]
    pub(in crate::native) fn moves_calls(&self) -> bool {
        self.returns || self.nested > 0 || self.calls_many || self.calls[0] != NONE
    }

    const NONE: Stride = Stride {
        key: 0,
        used: 0,
        returns: false,
        nested: 0,
        calls_many: false,
        to: NONE,
        last: NONE,
        instructions: 0,
        calls: [NONE; MOST_CALLS],
    };

    /// A block calls.
    fn call(&mut self, block: u32) -> Option<()> {
        *self.calls.iter_mut().find(|call| **call == NONE)? = block;
        Some(())
    }

    /// The block with the last open call, which returns.
    fn answer(&mut self) -> Option<u32> {
        let open = self.calls.iter().take_while(|&&call| call != NONE).count();
        let last = self.calls.get_mut(open.checked_sub(1)?)?;
        self.nested = self.nested.max(u8::try_from(open).ok()?);
        Some(std::mem::replace(last, NONE))
    }
}

/// The strides known: for each hash two, the one learnt later first; none before the first one is missed.
#[derive(Default)]
pub(super) struct Strides(Option<Box<[[Stride; 2]; STRIDES]>>);

impl Strides {
    /// They are there from now on.
    fn some(&mut self) -> Option<&mut [[Stride; 2]; STRIDES]> {
        if self.0.is_none() {
            self.0 = vec![[Stride::NONE; 2]; STRIDES].into_boxed_slice().try_into().ok();
        }
        self.0.as_deref_mut()
    }
}

/// Where it was learnt, there is one bit more in a key.
const LEARNT: u64 = 1 << 63;

/// Hop and TNT in one.
#[inline]
fn key(hop: u32, tnt: u8) -> u64 {
    u64::from(hop) << 8 | u64::from(tnt)
}

#[inline]
fn slot(hop: u32, tnt: u8) -> usize {
    (hop as usize ^ usize::from(tnt) << 5) % STRIDES
}

impl CodeMap {
    /// What the bits of `tnt` do from `hop` on, if it is known. The highest bit set ends them, as in a packet.
    #[inline]
    pub(in crate::native) fn stride(&self, hop: u32, tnt: u8) -> Option<&Stride> {
        let [one, other] = &self.strides.0.as_ref()?[slot(hop, tnt)];
        let key = key(hop, tnt) | LEARNT;
        if one.key == key { Some(one) } else { Some(other).filter(|other| other.key == key) }
    }

    /// A stride was missed.
    pub(in crate::native) fn learn_stride(&mut self, hop: u32, tnt: u8) {
        let begun = Stride { key: key(hop, tnt), ..Stride::NONE };
        let slot = slot(hop, tnt);
        let Some(strides) = self.strides.some() else { return };
        let [one, other] = strides[slot];
        strides[slot] = [one, begun];
        if other.key == begun.key
            && let Some(learnt) = self.find_stride(hop, tnt)
            && let Some(strides) = &mut self.strides.0
        {
            strides[slot] = [learnt, one];
        }
    }

    fn find_stride(&self, hop: u32, tnt: u8) -> Option<Stride> {
        let mut stride = Stride { key: key(hop, tnt) | LEARNT, to: hop, ..Stride::NONE };
        // The bit after the highest one set is the first branch's; the lowest is none.
        for bit in (1..tnt.checked_ilog2()?).rev() {
            match self.after_hop(&stride, tnt >> bit & 1 != 0) {
                Some(longer) => stride = longer,
                None => break,
            }
            if stride.returns || stride.calls_many {
                break;
            }
        }
        (stride.used > 0).then_some(stride)
    }

    /// `stride` and the hop after it; nothing where that cannot be part of it.
    fn after_hop(&self, stride: &Stride, taken: bool) -> Option<Stride> {
        let hop = self.hops.get(stride.to as usize)?;
        let mut longer = Stride {
            instructions: stride.instructions + hop.instructions,
            used: stride.used + 1,
            last: stride.to,
            ..*stride
        };
        if usize::from(hop.calls) > MOST_CALLS && stride.used == 0 {
            longer.calls_many = true;
        } else {
            self.calls_in(stride.to, hop).try_for_each(|call| longer.call(call))?;
        }
        let to = match hop.turn {
            Turn::Branch => hop.links[usize::from(taken)],
            Turn::Return if taken && longer.calls_many => {
                longer.nested = hop.calls;
                self.block(self.calls_in(stride.to, hop).last()?).next_link
            }
            Turn::Return if taken => match longer.answer() {
                Some(call) => self.block(call).next_link,
                None => return Some(Stride { returns: true, ..longer }),
            },
            _ => return None,
        };
        (to != NONE).then_some(Stride { to, ..longer })
    }

    /// The blocks of `hop`, which begins with block `number`, that call.
    fn calls_in(&self, number: u32, hop: &Hop) -> impl Iterator<Item = u32> {
        self.blocks_in(number, hop).filter(|&number| self.block(number).leaves_address())
    }
}
