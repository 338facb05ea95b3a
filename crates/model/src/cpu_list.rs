//! Lists of CPUs as the kernel and perf write them: `0-3,8`.
//!
//! Kept as ranges, so that a list takes no more room than its text.

use crate::place::Cpu;

/// Some CPUs, in the order in which they were named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(Vec<(u32, u32)>);

impl CpuList {
    /// More CPUs than any machine has.
    const MOST: u32 = 1 << 16;

    /// Reads `0-3,8`; empty parts are skipped. `None` where a part is no CPU and no range, or the ranges are absurdly long.
    pub fn parse(text: &str) -> Option<CpuList> {
        let mut left = CpuList::MOST;
        let mut ranges = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
            left = left.checked_sub(last.checked_sub(first)?.checked_add(1)?)?;
            ranges.push((first, last));
        }
        Some(CpuList(ranges))
    }

    /// Whether `cpu` is one of them.
    pub fn contains(&self, cpu: Cpu) -> bool {
        self.0.iter().any(|&(first, last)| (first..=last).contains(&cpu.0))
    }

    /// All of them; at most 65536.
    pub fn iter(&self) -> impl Iterator<Item = Cpu> + '_ {
        self.0.iter().flat_map(|&(first, last)| (first..=last).map(Cpu))
    }
}

#[cfg(test)]
mod tests;
