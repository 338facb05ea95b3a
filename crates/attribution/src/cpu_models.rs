//! How much code a core's front end holds, by CPU model.
//!
//! Source: Intel 64 and IA-32 Architectures Optimization Reference Manual (248966), the chapters on each
//! microarchitecture: the decoded instruction cache and the L1 one. Models: SDM vol. 4, table 2-1. Of a hybrid CPU the
//! performance core counts: the trace does not say on which kind a thread ran.

use std::fmt;

/// What a core holds of the code that it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeCaches {
    /// The microarchitecture's name.
    pub name: &'static str,
    /// Lines of 64 bytes in the L1 instruction cache.
    pub l1i_lines: u64,
    /// Micro-operations in the cache of decoded ones; `None` where there is none.
    pub uop_cache: Option<u64>,
}

/// Model numbers of family 6; a row per microarchitecture: name, KiB of L1I, micro-operations.
const MODELS: [(&str, &[u32], u64, Option<u64>); 13] = [
    ("Sandy Bridge", &[42, 45], 32, Some(1536)),
    ("Ivy Bridge", &[58, 62], 32, Some(1536)),
    ("Haswell", &[60, 63, 69, 70], 32, Some(1536)),
    ("Broadwell", &[61, 71, 79, 86], 32, Some(1536)),
    ("Skylake", &[78, 85, 94, 142, 158, 165, 166], 32, Some(1536)),
    ("Sunny Cove", &[106, 108, 125, 126], 32, Some(2304)),
    ("Willow Cove, Cypress Cove", &[140, 141, 167], 32, Some(2304)),
    ("Golden Cove, Raptor Cove", &[143, 151, 154, 183, 186, 191, 207], 32, Some(4096)),
    ("Redwood Cove", &[170, 172, 173, 174], 64, Some(4096)),
    ("Lion Cove", &[181, 189, 197, 198], 64, Some(5250)),
    ("Goldmont", &[92, 95, 122], 32, None),
    ("Tremont", &[134, 150, 156], 32, None),
    ("Gracemont, Crestmont", &[175, 182, 190], 64, None),
];

impl CodeCaches {
    /// Those of the CPU with this id, as perf.data has it: `GenuineIntel,6,85,4`; `None` where it is not in the table.
    pub fn of(cpu_id: &str) -> Option<CodeCaches> {
        let mut parts = cpu_id.split([',', '-']).map(str::trim);
        let (vendor, family, model) = (parts.next()?, parts.next()?, parts.next()?.parse::<u32>().ok()?);
        if (vendor, family) != ("GenuineIntel", "6") {
            return None;
        }
        let (name, _, kib, uop_cache) = MODELS.iter().find(|(_, models, ..)| models.contains(&model))?;
        Some(CodeCaches { name, l1i_lines: kib * 16, uop_cache: *uop_cache })
    }
}

impl fmt::Display for CodeCaches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: L1I {} lines", self.name, self.l1i_lines)?;
        self.uop_cache.map_or(Ok(()), |uops| write!(f, ", uop cache {uops}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Skylake-SP: 32 KiB of 64-byte lines are 512.
    #[test]
    fn finds_models_and_admits_what_it_does_not_know() {
        let skylake = CodeCaches::of("GenuineIntel,6,85,4").expect("in the table");
        assert_eq!((skylake.name, skylake.l1i_lines, skylake.uop_cache), ("Skylake", 512, Some(1536)));
        assert_eq!(CodeCaches::of("GenuineIntel-6-92-9").and_then(|caches| caches.uop_cache), None);
        for unknown in
            ["AuthenticAMD,25,1,1", "GenuineIntel,6,7,1", "GenuineIntel,15,85,1", "", "GenuineIntel,6"]
        {
            assert_eq!(CodeCaches::of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn no_model_stands_in_two_rows() {
        let mut all: Vec<u32> = MODELS.iter().flat_map(|row| row.1.iter().copied()).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
