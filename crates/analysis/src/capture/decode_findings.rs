//! What the decoder met in the windows of a run: failures, undecodable parts, repaired times.
//!
//! Windows are decoded by several threads and may share trace. So findings are kept in order of their places, each
//! once, and come out the same however the work was divided.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use model::{Cpu, Diagnostic};
use pt::{DecodeStats, Gap, GapReason};

/// How many findings are described one by one.
const SHOWN: usize = 20;
/// How many are distinguished; the later ones are only counted.
const KEPT: usize = 10_000;

/// First address of the kernel's half.
const KERNEL_HALF: u64 = 1 << 63;

/// By CPU and AUX offset, then by text.
type Key = (Option<Cpu>, Option<u64>, String);

/// The findings so far.
#[derive(Debug, Default)]
pub(crate) struct DecodeFindings {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_place: BTreeMap<Key, Diagnostic>,
    /// Gaps where the kernel's code is missing.
    kernel_gaps: BTreeMap<Key, Diagnostic>,
    uncounted: u64,
}

impl DecodeFindings {
    /// A window that the decoder gave up.
    pub(crate) fn failure(&self, cpu: Option<Cpu>, error: &pt::Error) {
        self.add(Diagnostic::error(format!("a window could not be decoded: {error}")).on_cpu(cpu));
    }

    /// A part of a stream that could not be decoded.
    pub(crate) fn gap(&self, cpu: Option<Cpu>, gap: &Gap) {
        let what = format!("a part of the trace could not be decoded: {}", gap.reason);
        let is_kernel = matches!(gap.reason, GapReason::NoCode { ip } if ip >= KERNEL_HALF);
        self.add_to(
            if is_kernel { |kept| &mut kept.kernel_gaps } else { |kept| &mut kept.by_place },
            Diagnostic::warning(what).on_cpu(cpu).at_aux(gap.aux_offset),
        );
    }

    /// What the decoder repaired or left out in a window.
    pub(crate) fn window(&self, cpu: Option<Cpu>, stats: &DecodeStats) {
        if let Some(aux_offset) = stats.first_ignored_time {
            let what = "TSC packets have a time later than the sync points after them: they are damaged and left \
                        out, times there are those of MTC and CYC packets";
            self.add(Diagnostic::warning(what).on_cpu(cpu).at_aux(aux_offset));
        }
        if stats.limited {
            let what = format!(
                "a window did not end within {} instructions: the rest is not decoded",
                stats.instructions
            );
            self.add(Diagnostic::warning(what).on_cpu(cpu));
        }
    }

    fn add(&self, diagnostic: Diagnostic) {
        self.add_to(|kept| &mut kept.by_place, diagnostic);
    }

    fn add_to(&self, list: fn(&mut Kept) -> &mut BTreeMap<Key, Diagnostic>, diagnostic: Diagnostic) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = &diagnostic.place;
        let key = (place.cpu, place.aux_offset, diagnostic.what.clone());
        let findings = list(&mut kept);
        if findings.len() < KEPT {
            findings.insert(key, diagnostic);
        } else if !findings.contains_key(&key) {
            kept.uncounted += 1;
        }
    }

    /// Takes what was found: the first ones by place, then how many more there are. Gaps where the kernel's code is missing are left out where
    /// its copy `is_cut`.
    pub(crate) fn take(&self, is_cut: bool) -> Vec<Diagnostic> {
        let mut kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        if !is_cut {
            kept.by_place.append(&mut kept.kernel_gaps);
        }
        let more = (kept.by_place.len().saturating_sub(SHOWN) as u64).saturating_add(kept.uncounted);
        let mut told: Vec<Diagnostic> = kept.by_place.into_values().take(SHOWN).collect();
        if more > 0 {
            told.push(Diagnostic::warning(format!("{more} more findings of the decoder are not shown")));
        }
        told
    }
}

#[cfg(test)]
mod tests;
