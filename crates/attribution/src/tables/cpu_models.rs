//! How much code a core's front end holds, by CPU model.
//!
//! Sizes: Intel 64 and IA-32 Architectures Optimization Reference Manual (248966), the sections on each
//! microarchitecture: the decoded instruction cache and the L1 instruction cache. Models: Linux
//! `arch/x86/include/asm/intel-family.h`, SDM vol. 4, table 2-1. For a hybrid CPU the table gives the performance
//! core: the trace does not show on which kind of core a thread ran.

use std::fmt;

/// What a core holds of the code that it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeCaches {
    /// The microarchitecture's name.
    pub name: &'static str,
    /// Lines of 64 bytes in the L1 instruction cache.
    pub l1i_lines: u64,
    /// Micro-operations in the decoded instruction cache; `None` where there is none.
    pub uop_cache: Option<u64>,
}

/// Model numbers of family 6; one row per microarchitecture: name, KiB of L1I, micro-operations. The comment above a
/// row names the manual's section. Cannon Lake (102, Palm Cove) has no section and is left out.
const MODELS: [(&str, &[u32], u64, Option<u64>); 13] = [
    // Sandy Bridge: the decoded ICache has 32 sets of 8 ways of 6.
    ("Sandy Bridge", &[42, 45], 32, Some(1536)),
    // Sandy Bridge: this is its die shrink.
    ("Ivy Bridge", &[58, 62], 32, Some(1536)),
    // Haswell.
    ("Haswell", &[60, 63, 69, 70], 32, Some(1536)),
    // Haswell: this is its die shrink.
    ("Broadwell", &[61, 71, 79, 86], 32, Some(1536)),
    // Skylake Client, Skylake Server; later models of the same core.
    ("Skylake", &[78, 85, 94, 142, 158, 165, 166], 32, Some(1536)),
    // Ice Lake Client. 138 is Lakefield with one such core, 157 NNP-I (intel-family.h).
    ("Sunny Cove", &[106, 108, 125, 126, 138, 157], 32, Some(2304)),
    // Ice Lake Client, whose front end both share.
    ("Willow Cove, Cypress Cove", &[140, 141, 167], 32, Some(2304)),
    // Alder Lake, Golden Cove.
    ("Golden Cove, Raptor Cove", &[143, 151, 154, 183, 186, 191, 207], 32, Some(4096)),
    // Redwood Cove. 181 is called Arrow Lake-U, but perf's event tables (pmu-events/arch/x86/mapfile.csv) assign it
    // the core of Meteor Lake, 170 and 172; 197 and 198 have tables of their own.
    ("Redwood Cove", &[170, 172, 173, 174, 181], 64, Some(4096)),
    // Lunar Lake, Lion Cove.
    ("Lion Cove", &[189, 197, 198], 64, Some(5250)),
    // Goldmont, Goldmont Plus.
    ("Goldmont", &[92, 95, 122], 32, None),
    // Tremont.
    ("Tremont", &[134, 150, 156], 32, None),
    // Alder Lake, Gracemont; Sierra Forest, Crestmont.
    ("Gracemont, Crestmont", &[175, 182, 190], 64, None),
];

impl CodeCaches {
    /// The entry for a CPU id in perf.data's form, `GenuineIntel,6,85,4`; `None` where the table lacks it.
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

    /// By `intel-family.h` and perf's `mapfile.csv`, which puts 0xB5 with Meteor Lake's 0xAA and 0xAC.
    #[test]
    fn models_are_known_by_their_core() {
        for (model, core) in [
            (0x8a, "Sunny Cove"),
            (0x9d, "Sunny Cove"),
            (0xaa, "Redwood Cove"),
            (0xb5, "Redwood Cove"),
            (0xc5, "Lion Cove"),
        ] {
            let name = CodeCaches::of(&format!("GenuineIntel,6,{model},1")).map(|caches| caches.name);
            assert_eq!(name, Some(core), "{model:#x}");
        }
        assert_eq!(CodeCaches::of("GenuineIntel,6,102,3"), None, "no figures for Cannon Lake");
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
