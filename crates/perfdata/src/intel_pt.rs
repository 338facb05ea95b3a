//! How Intel PT was set up: the `AUXTRACE_INFO` record and the PT attribute's configuration.
//!
//! Sources: `enum` in `tools/perf/util/intel-pt.h` for the record; `/sys/bus/event_source/devices/intel_pt/format`
//! and the Intel SDM (`IA32_RTIT_CTL`) for the configuration.

use model::TimeConversion;

use crate::bytes::{Fields, text, u64_at};
use crate::record::user::conversion as time_conversion;

/// The AUXTRACE type of Intel PT.
const INTEL_PT: u32 = 1;

/// The `AUXTRACE_INFO` record of Intel PT. Masks are bits of the PT attribute's `config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // A record's yes-or-no fields.
#[non_exhaustive]
pub struct IntelPtInfo {
    /// Event type of `intel_pt`.
    pub pmu_type: u32,
    /// From TSC to perf time; `None` where the kernel gave none (`-k CLOCKID`).
    pub time_conversion: Option<TimeConversion>,
    /// Whether that conversion holds for perf's times.
    pub cap_user_time_zero: bool,
    /// Mask of "TSC packets on".
    pub tsc_bit: u64,
    /// Mask of "return compression off".
    pub noretcomp_bit: u64,
    /// How perf recorded switches: 0 not, 1 tracepoint, 2 SWITCH records, 3 `SWITCH_CPU_WIDE`.
    pub have_sched_switch: u64,
    /// Whether it is a snapshot.
    pub snapshot_mode: bool,
    /// Whether there is one ring buffer a CPU, not one a thread.
    pub per_cpu_mmaps: bool,
    /// Mask of "MTC packets on".
    pub mtc_bit: u64,
    /// Mask of the MTC period.
    pub mtc_freq_bits: u64,
    /// TSC to crystal clock ratio: TSC = crystal * n / d (CPUID 15H EBX, EAX); zero where unknown.
    pub tsc_ctc_ratio_n: u32,
    /// Its denominator.
    pub tsc_ctc_ratio_d: u32,
    /// Mask of "CYC packets on".
    pub cyc_bit: u64,
    /// The ratio of the nominal frequency, for reading CBR.
    pub max_nonturbo_ratio: u32,
    /// Address filters; empty where there are none.
    pub filter: String,
    /// Whether the CPU can do Event Trace.
    pub cap_event_trace: bool,
}

impl IntelPtInfo {
    /// Reads the record's body; `None` where it is too short or of another kind of trace.
    pub(crate) fn parse(body: &[u8]) -> Option<IntelPtInfo> {
        if Fields::new(body).u32()? != INTEL_PT {
            return None;
        }
        let words = body.get(8..)?;
        // Old versions of perf wrote fewer words; those they did write end after `per_cpu_mmaps`.
        u64_at(words, 9 * 8)?;
        let word = |index: usize| u64_at(words, index * 8).unwrap_or(0);
        let small = |index| u32::try_from(word(index)).unwrap_or(0);
        let filter_len = usize::try_from(word(16)).unwrap_or(0);
        let filter = words.get(17 * 8..).and_then(|bytes| bytes.get(..filter_len)).unwrap_or(&[]);
        let behind_filter = padded_filter(filter.len()).unwrap_or(0) + 17 * 8;
        Some(IntelPtInfo {
            pmu_type: small(0),
            time_conversion: time_conversion(word(1), word(2), word(3)),
            cap_user_time_zero: word(4) != 0,
            tsc_bit: word(5),
            noretcomp_bit: word(6),
            have_sched_switch: word(7),
            snapshot_mode: word(8) != 0,
            per_cpu_mmaps: word(9) != 0,
            mtc_bit: word(10),
            mtc_freq_bits: word(11),
            tsc_ctc_ratio_n: small(12),
            tsc_ctc_ratio_d: small(13),
            cyc_bit: word(14),
            max_nonturbo_ratio: small(15),
            filter: text(filter),
            cap_event_trace: u64_at(words, behind_filter).unwrap_or(0) != 0,
        })
    }

    /// What an attribute of PT requested.
    pub fn config(&self, config: u64) -> IntelPtConfig {
        let period_shift = self.mtc_freq_bits.trailing_zeros();
        let period = if self.mtc_freq_bits == 0 { 0 } else { (config & self.mtc_freq_bits) >> period_shift };
        IntelPtConfig {
            tsc: config & self.tsc_bit != 0,
            cyc: config & self.cyc_bit != 0,
            mtc: config & self.mtc_bit != 0,
            mtc_period: u8::try_from(period).unwrap_or(0),
            noretcomp: config & self.noretcomp_bit != 0,
            ..IntelPtConfig::from_rtit_ctl(config)
        }
    }
}

/// How many bytes perf writes for address filters of this length: with a NUL after them, in whole words; none for none
/// (`intel_pt_filter_bytes` in `tools/perf/arch/x86/util/intel-pt.c`).
pub(crate) fn padded_filter(length: usize) -> Option<usize> {
    if length == 0 { Some(0) } else { length.checked_add(1)?.checked_next_multiple_of(8) }
}

/// What was traced, bit by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // A register's bits.
#[non_exhaustive]
pub struct IntelPtConfig {
    /// TSC packets.
    pub tsc: bool,
    /// CYC packets.
    pub cyc: bool,
    /// The least number of cycles between two CYC packets is 2^(n-1); 0 = each.
    pub cyc_threshold: u8,
    /// MTC packets.
    pub mtc: bool,
    /// An MTC packet each 2^n crystal clocks.
    pub mtc_period: u8,
    /// A PSB each 2^(n+11) bytes.
    pub psb_period: u8,
    /// Return compression off.
    pub noretcomp: bool,
    /// PTWRITE packets.
    pub ptw: bool,
    /// A FUP with each PTWRITE.
    pub fup_on_ptw: bool,
    /// Power events.
    pub pwr_evt: bool,
    /// Branches, that is control flow at all.
    pub branch: bool,
    /// Event Trace.
    pub event: bool,
    /// Conditional branches are left out.
    pub notnt: bool,
}

impl IntelPtConfig {
    /// By the layout that all kernels so far use, which is the register's.
    #[allow(clippy::cast_possible_truncation)] // Fields of four bits.
    fn from_rtit_ctl(config: u64) -> IntelPtConfig {
        let set = |bit: u32| config >> bit & 1 == 1;
        let nibble = |bit: u32| (config >> bit & 0xf) as u8;
        IntelPtConfig {
            tsc: set(10),
            cyc: set(1),
            cyc_threshold: nibble(19),
            mtc: set(9),
            mtc_period: nibble(14),
            psb_period: nibble(24),
            noretcomp: set(11),
            ptw: set(12),
            fup_on_ptw: set(5),
            pwr_evt: set(4),
            // Without the pass-through bit 0 ("pt") the driver switches branches on by itself.
            branch: !set(0) || set(13),
            event: set(31),
            notnt: set(55),
        }
    }
}

#[cfg(test)]
mod tests;
