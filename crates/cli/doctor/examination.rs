//! What the checks look at: all facts of one machine, read once.

use std::collections::BTreeSet;

use super::storage::Storage;
use super::trial::Trial;
use crate::machine::build::Build;
use crate::machine::cpu::{self, CpuModel};
use crate::machine::privileges::{Container, Privileges};
use crate::machine::pt::Pt;
use crate::machine::tree::Tree;
use crate::record::buffers::Buffers;

/// The facts.
pub(crate) struct Examination {
    pub(super) tree: Tree,
    pub(super) pt: Option<Pt>,
    /// Whether its driver describes it.
    is_described: bool,
    pub(super) cpu: CpuModel,
    pub(super) privileges: Privileges,
    pub(super) container: Option<Container>,
    pub(super) online: BTreeSet<u32>,
    pub(super) isolated: BTreeSet<u32>,
    pub(super) build: Option<Build>,
    pub(super) storage: Storage,
    pub(super) buffers: Buffers,
    /// What the trial recorded, or what perf said; `None` without a trial.
    pub(super) trial: Option<Result<Trial, String>>,
}

impl Examination {
    /// The machine below the tree, its perf, the disk for its captures, and the buffers that perf would have.
    pub(crate) fn new(tree: Tree, build: Option<Build>, storage: Storage, buffers: Buffers) -> Examination {
        Examination {
            pt: Pt::of(&tree),
            is_described: !Pt::is_undescribed(&tree),
            cpu: CpuModel::of(&tree),
            privileges: Privileges::of(&tree),
            container: Container::of(&tree),
            online: cpu::online(&tree),
            isolated: cpu::isolated(&tree),
            build,
            storage,
            buffers,
            trial: None,
            tree,
        }
    }

    /// The same with what a trial found.
    pub(crate) fn with_trial(self, trial: Result<Trial, String>) -> Examination {
        Examination { trial: Some(trial), ..self }
    }

    /// Whether the kernel offers Intel PT.
    pub(crate) fn has_pt(&self) -> bool {
        self.pt.is_some()
    }

    /// What Intel PT can do, where it is there and describes itself.
    pub(crate) fn described_pt(&self) -> Option<&Pt> {
        self.pt.as_ref().filter(|_| self.is_described)
    }

    /// Whether the machine is a guest of a hypervisor.
    pub(super) fn is_guest(&self) -> bool {
        self.cpu.has("hypervisor")
    }
}
