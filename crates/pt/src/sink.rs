//! What receives a flow, and how fine it wants the instructions.
//!
//! ```text
//! blocks    block, block, block, event, block ...
//! calls     events, those of watched calls among them, and blocks that leave for another privilege level
//! sums      events, and how many instructions each thread ran
//! ```
//!
//! The coarser, the faster: an engine passes over what is not wanted without naming it.

use std::collections::BTreeSet;

use model::{Pid, ThreadId};

use crate::flow::{BlockEnd, Flow, FlowItem};

/// How fine a sink wants the instructions of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    /// Block by block.
    #[default]
    Blocks,
    /// Calls of some functions ([`FlowSink::watched`]). An engine may give the events of [`EventKind`](crate::EventKind) for these, and blocks
    /// that end with a far transfer, in place of all blocks, which is faster by far.
    Calls,
    /// Only how many they are: an engine may give [`FlowSink::sum`] in place of blocks, which is faster by far.
    Sums,
}

/// Most addresses at which watched calls return: each that is learnt makes an engine forget what it knows of the ways between blocks.
const MOST_RETURNS: usize = 1024;

/// Functions whose calls are wanted, and where these return to. An engine learns the latter at each entry: before the first call from a
/// place came, a return to there is not seen, and what was decoded before must be again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedCalls {
    /// With the process in whose address space it is; without one in any, or in the kernel.
    entries: BTreeSet<(u64, Option<Pid>)>,
    returns: BTreeSet<u64>,
    is_unsure: bool,
}

impl WatchedCalls {
    /// Calls of the functions that begin at these addresses, each with the process in whose address space that is, if only that is meant.
    pub fn of(entries: impl IntoIterator<Item = (u64, Option<Pid>)>) -> WatchedCalls {
        WatchedCalls { entries: entries.into_iter().collect(), ..WatchedCalls::default() }
    }

    /// At how many addresses calls are known to return.
    pub fn returns(&self) -> usize {
        self.returns.len()
    }

    /// Whether it is not known where some call returns to: it came neither by a call nor by a call of a stub or a retpoline, or there are too many
    /// such addresses; or whether a return led to an address that the trace leaves out. The engine has ended there.
    pub fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// Takes over what another watch for the same functions learnt.
    pub fn learn_from(&mut self, other: &WatchedCalls) {
        self.returns.extend(&other.returns);
        self.is_unsure |= other.is_unsure;
    }

    pub(crate) fn is_entry(&self, ip: u64, thread: Option<ThreadId>) -> bool {
        let pid = thread.map(|thread| thread.pid);
        self.entries_at(ip).any(|of| of.is_none() || pid.is_none() || of == pid)
    }

    /// The processes in which a function begins at `ip`.
    fn entries_at(&self, ip: u64) -> impl Iterator<Item = Option<Pid>> {
        self.entries.range((ip, None)..).take_while(move |(at, _)| *at == ip).map(|(_, of)| *of)
    }

    pub(crate) fn returns_to(&self, ip: u64) -> bool {
        self.returns.contains(&ip)
    }

    /// Where the call of a block returns to that ends like this and has `next` after it, if that is watched.
    pub(crate) fn call_by(&self, end: BlockEnd, next: u64) -> Option<u64> {
        (end == BlockEnd::Call && self.returns_to(next)).then_some(next)
    }

    /// Whether a block is wanted that begins at `ip` and has `next` after its end.
    pub(crate) fn holds(&self, ip: u64, end: BlockEnd, next: u64) -> bool {
        end.is_far()
            || self.entries_at(ip).next().is_some()
            || self.returns_to(ip)
            || self.call_by(end, next).is_some()
    }

    /// A watched function was called and returns to `address`: whether that is new. Nothing where it is not known, or they are too many.
    pub(crate) fn learn(&mut self, address: Option<u64>) -> Option<bool> {
        let address =
            address.filter(|&address| self.returns.len() < MOST_RETURNS || self.returns_to(address));
        self.is_unsure |= address.is_none();
        Some(self.returns.insert(address?))
    }
}

/// Receives a flow in the order of execution.
pub trait FlowSink {
    /// The next item. Return [`std::ops::ControlFlow::Break`] to end decoding here.
    fn item(&mut self, item: &FlowItem) -> std::ops::ControlFlow<()>;

    /// How fine it wants the instructions. Requested once, before the first item.
    fn grain(&self) -> Grain {
        Grain::Blocks
    }

    /// So many instructions of `thread` ran, each at a likely time within the range of the window. In no order with the
    /// items; only with [`Grain::Sums`].
    fn sum(&mut self, thread: Option<ThreadId>, instructions: u64) {
        let _ = (thread, instructions);
    }

    /// Which calls are wanted; with [`Grain::Calls`]. Requested once, before the first item.
    fn watched(&self) -> WatchedCalls {
        WatchedCalls::default()
    }

    /// What an engine that leaves out blocks has learnt of the calls; after the last item, with [`Grain::Calls`].
    fn learnt(&mut self, watched: &WatchedCalls) {
        let _ = watched;
    }
}

impl FlowSink for Flow {
    fn item(&mut self, item: &FlowItem) -> std::ops::ControlFlow<()> {
        self.items.push(item.clone());
        std::ops::ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_in_its_process() {
        let of = |pid| Some(ThreadId::new(pid, pid));
        let watched = WatchedCalls::of([(0x10, Some(Pid(1))), (0x20, None)]);
        assert!(
            watched.is_entry(0x10, of(1)) && watched.is_entry(0x10, None) && watched.is_entry(0x20, of(2))
        );
        assert!(!watched.is_entry(0x10, of(2)) && !watched.is_entry(0x18, None));
        // What lies on a way is known before its thread is.
        assert!(watched.holds(0x10, BlockEnd::Jump, 0) && !watched.holds(0x18, BlockEnd::Jump, 0));
    }

    #[test]
    fn too_many_returns_are_a_doubt() {
        let mut watched = WatchedCalls::default();
        for address in 0..MOST_RETURNS as u64 {
            assert_eq!(watched.learn(Some(address)), Some(true));
            assert_eq!(watched.learn(Some(address)), Some(false));
        }
        assert!(!watched.is_unsure());
        assert_eq!((watched.learn(Some(u64::MAX)), watched.learn(Some(3))), (None, Some(false)));
        assert!(watched.is_unsure());
    }
}
