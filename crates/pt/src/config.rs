//! What a decoder must know of the CPU and the recording, and the bounds on its work.

/// Family, model and stepping of the CPU that wrote the trace, for libipt's errata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuModel {
    /// Display family (`0x6`).
    pub family: u16,
    /// Display model (94 = Skylake client).
    pub model: u8,
    /// Stepping.
    pub stepping: u8,
}

/// The recording's parameters, from `AUXTRACE_INFO` and the CPU description of the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PtConfig {
    /// The CPU; `None` applies no erratum.
    pub cpu: Option<CpuModel>,
    /// `IA32_RTIT_CTL.MTCFreq`: one MTC each 2^n crystal clocks (perf's `mtc_period`).
    pub mtc_freq: u8,
    /// Maximum non-turbo ratio (`max_nonturbo_ratio`); 0 where unknown: CYC is then calibrated from MTC alone.
    pub nom_freq: u8,
    /// TSC ticks per crystal clock as n/d: CPUID 0x15 EBX and EAX (`tsc_ctc_ratio_n`, `tsc_ctc_ratio_d`).
    /// `None` without MTC.
    pub tsc_ctc_ratio: Option<(u32, u32)>,
}

/// Bounds on work: no input, however broken, may keep a decoder busy without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most instructions between two packets. Straight code needs a packet each few hundred; a million is a loop
    /// without an exit.
    pub silent_instructions: u64,
    /// Most instructions of one window.
    pub instructions: u64,
    /// Most bytes copied where a sync period straddles two pieces of the stream.
    pub bridge_bytes: usize,
    /// Least bytes of a chunk where one stream is decoded on several threads.
    pub chunk_bytes: u64,
    /// Most bytes of code (and their block cache, five bytes for one) that a decoder keeps mapped.
    pub section_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            silent_instructions: 1 << 20,
            instructions: u64::MAX,
            bridge_bytes: 256 << 20,
            chunk_bytes: 128 << 10,
            section_bytes: 8 << 30,
        }
    }
}
