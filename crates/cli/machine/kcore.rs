//! `/proc/kcore`, from which perf copies the kernel's code (`--kcore`).
//!
//! Source: `fs/proc/kcore.c` (`open_kcore` asks for `CAP_SYS_RAWIO`); runtimes of containers lay `/dev/null` over the file.

use std::fs::File;

use super::privileges::{Capability, Privileges};
use super::tree::Tree;

/// Whether perf can copy the kernel's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kcore {
    /// It can.
    Readable,
    /// The kernel has no such file.
    Missing,
    /// A container's runtime hides it.
    Masked,
    /// This process may not read it.
    Refused,
}

impl Kcore {
    /// That of the machine. A tree without `/proc` says nothing: then it counts as readable, and perf decides.
    pub(crate) fn of(tree: &Tree, privileges: &Privileges) -> Kcore {
        if !tree.has("proc/self/status") {
            return Kcore::Readable;
        }
        let path = tree.at("proc/kcore");
        match path.metadata() {
            Err(_) => Kcore::Missing,
            Ok(metadata) if !metadata.is_file() || metadata.len() == 0 => Kcore::Masked,
            Ok(_) if privileges.has(Capability::SysRawio) && File::open(&path).is_ok() => Kcore::Readable,
            Ok(_) => Kcore::Refused,
        }
    }
}
