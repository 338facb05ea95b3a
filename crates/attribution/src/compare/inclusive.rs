//! The time of each function as called by those above it, with everything that it called.
//!
//! Input: an interval's profile and pieces. One pass over them, and one over the callers of each node: a parser has thousands of nodes.

use model::{Cause, Ticks};

use super::profile::Profile;
use crate::examine::examined::Examined;
use crate::walk::user_code::{ByAddress, NodeKey};

/// The time of a node with everything that it called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Whole {
    /// Its code and theirs ran.
    pub(super) ran: Ticks,
    /// The kernel ran in between.
    pub(super) in_kernel: Ticks,
    /// The thread was off its CPU.
    pub(super) off_cpu: Ticks,
}

impl Whole {
    fn add(&mut self, more: &Whole) {
        self.ran.0 += more.ran.0;
        self.in_kernel.0 += more.in_kernel.0;
        self.off_cpu.0 += more.off_cpu.0;
    }
}

/// Of each node of `outlier`, whose profile is `own`. What interrupts belongs to the node that ran last.
pub(super) fn inclusive(outlier: &Examined, own: &Profile) -> ByAddress<NodeKey, Whole> {
    let mut alone: ByAddress<NodeKey, Whole> = ByAddress::default();
    for (&node, used) in own {
        alone.entry(node).or_default().ran.0 += used.ticks;
    }
    let mut last = None;
    for piece in &outlier.pieces {
        if let Some(run) = outlier.run_of(piece) {
            last = Some(run.node);
            continue;
        }
        let (Some(node), Some(claim)) = (last, outlier.claim_of(piece)) else { continue };
        let whole = alone.entry(node).or_default();
        match &claim.cause {
            Cause::OffCpu(_) | Cause::Idle(_) | Cause::CStateExit(_) => {
                whole.off_cpu.0 += piece.range.ticks().0;
            }
            cause if cause.is_kernel() => whole.in_kernel.0 += piece.range.ticks().0,
            _ => {}
        }
    }
    let mut all = alone.clone();
    for (node, whole) in alone {
        for (caller, _) in outlier.code.lineage(node).skip(1) {
            all.entry(caller).or_default().add(&whole);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use perfdata::{LeaveReason, Schedule};
    use pt::BlockEnd;

    use super::*;
    use crate::compare::profile::profile;
    use crate::testing::script::{Script, Table, WORKER, World, run};

    /// `work` calls `insert`, that calls `hash`, where a page fault comes; then `work` is off its CPU. Each has what those below it took, once.
    #[test]
    fn a_function_has_what_all_it_called_took() {
        let table = Table::new(&["asm_exc_page_fault"], &["work", "insert", "hash"]);
        let mut script = Script::new(&table);
        script
            .block(0, "work", 0, BlockEnd::Call)
            .block(100, "insert", 0, BlockEnd::Call)
            .block(300, "hash", 0, BlockEnd::ConditionalBranch)
            .interrupt_of(600, "hash", 0x20, "asm_exc_page_fault")
            .block(600, "asm_exc_page_fault", 0, BlockEnd::FarReturn)
            .block(1000, "hash", 0x20, BlockEnd::Return)
            .block(1100, "insert", Script::AFTER, BlockEnd::Return)
            .block(1200, "work", Script::AFTER, BlockEnd::Jump)
            .block(1800, "work", 0x40, BlockEnd::Jump);
        let schedule = Schedule::from_runs(vec![
            run(WORKER, 0, 0, 1300, LeaveReason::Slept(Some('S'))),
            run(WORKER, 0, 1800, 4000, LeaveReason::Unknown),
        ]);
        let world = World {
            table: &table,
            schedule,
            records: Vec::new(),
            items: script.items.clone(),
            kernel_traced: true,
        };
        let examined = world.examine(0..2000);
        let all: BTreeMap<&str, Whole> = inclusive(&examined, &profile(&examined))
            .into_iter()
            .map(|(node, whole)| (&*examined.code.nodes[&node].function, whole))
            .collect();
        let whole = |ran, in_kernel, off_cpu| Whole {
            ran: Ticks(ran),
            in_kernel: Ticks(in_kernel),
            off_cpu: Ticks(off_cpu),
        };
        let expected =
            [("hash", whole(400, 400, 0)), ("insert", whole(700, 400, 0)), ("work", whole(1100, 400, 500))];
        assert_eq!(all, BTreeMap::from(expected));
    }
}
