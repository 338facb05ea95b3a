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

use model::ThreadId;

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

/// Most addresses at which watched calls return.
const MOST_RETURNS: usize = 4096;

/// Functions whose calls are wanted, and where these return to. An engine learns the latter at each entry: before the first call from a
/// place came, a return to there is not seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedCalls {
    entries: BTreeSet<u64>,
    returns: BTreeSet<u64>,
    is_unsure: bool,
}

impl WatchedCalls {
    /// Calls of the functions that begin at these addresses.
    pub fn of(entries: impl IntoIterator<Item = u64>) -> WatchedCalls {
        WatchedCalls { entries: entries.into_iter().collect(), ..WatchedCalls::default() }
    }

    /// At how many addresses calls are known to return.
    pub fn returns(&self) -> usize {
        self.returns.len()
    }

    /// Whether a function was entered by something else than a call, or by a call and one jump: its return was not looked for. The engine
    /// has ended there.
    pub fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// Takes over what another watch for the same functions learnt.
    pub fn learn_from(&mut self, other: &WatchedCalls) {
        self.returns.extend(&other.returns);
        self.is_unsure |= other.is_unsure;
    }

    pub(crate) fn is_entry(&self, ip: u64) -> bool {
        self.entries.contains(&ip)
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
        end.is_far() || self.is_entry(ip) || self.returns_to(ip) || self.call_by(end, next).is_some()
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
    /// items; never with [`Grain::Blocks`].
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
