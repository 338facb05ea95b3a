//! Defects of CPU models that change what packets mean.
//!
//! ```text
//! CPU model → errata → exceptions of the lexer, the cues and the walk
//! ```
//!
//! Source: Intel's specification updates of the processors, by the erratum's number where it was first listed; libipt 2.1.2 has the same
//! models (`pt_cpu_errata`). BDM70, a FUP before TIP.PGE, is heeded on all models (`cues::sync`), and SKL168, a CYC lost before a PSB, by the clock,
//! which takes each reading of the TSC as it is.

use crate::config::{CpuModel, PtConfig};

/// Which defects the CPU has that wrote the trace.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Errata {
    /// BDM64: where a transaction aborts right after a branch, that branch's packet may be wrong.
    pub(super) wrong_branch_before_abort: bool,
    /// SKD007: an OVF may come after the first byte of a CYC of several bytes.
    pub(super) overflow_within_cyc: bool,
    /// SKD010: the FUP or TIP.PGE after an OVF may be missing.
    pub(super) fup_missing_after_overflow: bool,
    /// SKD022: a VM entry that ends tracing may have a FUP before its TIP.PGD, as if tracing ended asynchronously.
    pub(super) fup_at_vm_entry: bool,
    /// SKZ84: a TMA of a guest whose TSC is scaled or offset is spoilt, and one byte longer.
    pub(super) spoilt_tma: bool,
    /// APL11: a TIP.PGD may come after an OVF, with tracing off already.
    pub(super) disabled_after_overflow: bool,
    /// APL12: a FUP may come after an OVF although tracing is off.
    pub(super) fup_after_overflow_while_off: bool,
}

impl Errata {
    /// Those of the CPU of `config`; none where it is not known.
    pub(super) fn of(config: &PtConfig) -> Errata {
        let none = Errata::default();
        let Some(CpuModel { family, model, .. }) = config.cpu else { return none };
        match (family, model) {
            // Broadwell.
            (6, 0x3d | 0x47 | 0x4f | 0x56) => Errata { wrong_branch_before_abort: true, ..none },
            // Skylake, Kaby Lake, Coffee Lake, Comet Lake.
            (6, 0x4e | 0x5e | 0x8e | 0x9e | 0xa5 | 0xa6) => Errata {
                overflow_within_cyc: true,
                fup_missing_after_overflow: true,
                fup_at_vm_entry: true,
                ..none
            },
            // Skylake-SP to Granite Rapids; Diamond Rapids.
            (6, 0x55 | 0x6a | 0x6c | 0x8f | 0xcf | 0xad | 0xae) | (0x13, 1) => {
                Errata { fup_at_vm_entry: true, spoilt_tma: true, ..none }
            }
            // Cannon Lake, Ice Lake, Tiger Lake, Rocket Lake.
            (6, 0x66 | 0x7d | 0x7e | 0x8c | 0x8d | 0xa7 | 0xa8) => Errata { fup_at_vm_entry: true, ..none },
            // Alder Lake to Panther Lake: cores of both kinds.
            (6, 0x97 | 0x9a | 0xba | 0xb7 | 0xbf | 0xc5 | 0xc6 | 0xb5 | 0xaa | 0xac | 0xbd | 0xcc) => {
                Errata { fup_at_vm_entry: true, disabled_after_overflow: true, ..none }
            }
            // Goldmont.
            (6, 0x5c | 0x5f) => {
                Errata { disabled_after_overflow: true, fup_after_overflow_while_off: true, ..none }
            }
            // Goldmont Plus to Darkmont.
            (6, 0x7a | 0x86 | 0x96 | 0x9c | 0xb6 | 0xaf | 0xdd) => {
                Errata { disabled_after_overflow: true, ..none }
            }
            _ => none,
        }
    }

    /// Whether a packet of the time may be none.
    #[inline]
    pub(super) fn spoil_times(self) -> bool {
        self.overflow_within_cyc || self.spoilt_tma
    }
}
