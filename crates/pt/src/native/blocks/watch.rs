//! Which calls are watched. A block that is wanted of them lies on no hop, so that a walk which passes hops stops at it.

use super::hops::Hop;
use super::strides::Strides;
use super::{Block, CodeMap, NONE, ON_HOPS};
use crate::sink::WatchedCalls;

impl CodeMap {
    /// Watches these calls from now on, or none.
    pub(in crate::native) fn watch(&mut self, watched: Option<WatchedCalls>) {
        if self.watched != watched {
            self.watched = watched;
            self.forget_hops();
        }
    }

    /// The calls that are watched.
    pub(in crate::native) fn watched(&self) -> Option<&WatchedCalls> {
        self.watched.as_ref()
    }

    /// A watched function was called and returns to `address`, which is watched from now on; whether it was not before. Nothing where it is
    /// not known, or they are too many.
    pub(in crate::native) fn learn_return(&mut self, address: Option<u64>) -> Option<bool> {
        let is_new = self.watched.as_mut()?.learn(address)?;
        if is_new {
            self.forget_hops();
        }
        Some(is_new)
    }

    /// A watched call may have returned unseen.
    pub(in crate::native) fn doubt(&mut self) {
        if let Some(watched) = &mut self.watched {
            watched.learn(None);
        }
    }

    /// Whether `block` is wanted for itself.
    pub(super) fn is_watched(&self, block: &Block) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.holds(block.ip, block.end, block.next))
    }

    /// The numbers of the blocks of the hop with this number.
    pub(in crate::native) fn blocks_of(&self, number: u32) -> impl Iterator<Item = u32> {
        self.blocks_in(number, &self.hops[number as usize])
    }

    /// Forgets hops and strides, but no block.
    fn forget_hops(&mut self) {
        self.hops.fill(Hop::UNKNOWN);
        self.hops[super::LOOSE as usize] = Hop::NEVER;
        self.strides = Strides::default();
        self.on_hops = vec![(NONE, 0); ON_HOPS];
    }
}
