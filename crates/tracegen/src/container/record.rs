//! The records of a perf.data file, one by one, as bytes.
//!
//! Source: `linux/perf_event.h` (`enum perf_event_type`), tools/perf/util/event.h for perf's own.

use crate::encoder::Settings;

/// What samples, and the trailers of records, carry: sums of `PERF_SAMPLE_…`.
pub(crate) mod carries {
    /// IP, TID, TIME, CPU, IDENTIFIER: all of them.
    pub(crate) const ORIGIN: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 16;
    /// Counters, as `read_format` lays them out.
    pub(crate) const READ: u64 = 1 << 4;
    /// Events since the last sample.
    pub(crate) const PERIOD: u64 = 1 << 8;
    /// What the instruction cost, in three parts.
    pub(crate) const WEIGHT_STRUCT: u64 = 1 << 24;
    /// Raw bytes, of a tracepoint.
    pub(crate) const RAW: u64 = 1 << 10;
    /// The data's address.
    pub(crate) const ADDRESS: u64 = 1 << 3;
    /// The data's address, where it came from (`perf_mem_data_src`), its physical address.
    pub(crate) const ACCESS: u64 = 1 << 3 | 1 << 15 | 1 << 19;
    /// A piece of the trace.
    pub(crate) const AUX: u64 = 1 << 20;
    /// The thread's control group.
    pub(crate) const CGROUP: u64 = 1 << 21;
}

/// The lowest address of the upper half, where kernels live.
const UPPER_HALF: u64 = 1 << 47;

/// `misc` bits.
const KERNEL: u16 = 1;
const USER: u16 = 2;
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// Who wrote a kernel record, where and when: its trailer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    /// perf time, ns; 0 for records that perf makes up before the start.
    pub(crate) time: u64,
    pub(crate) cpu: u32,
    pub(crate) id: u64,
}

/// A file in memory.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) file_offset: u64,
    pub(crate) path: String,
}

/// What an `AUXTRACE_INFO` record says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntelPt {
    pub(crate) pmu: u32,
    /// perf time = zero + (TSC x mult >> shift)
    pub(crate) shift: u64,
    pub(crate) mult: u64,
    pub(crate) zero: u64,
    pub(crate) settings: Settings,
    /// Buffers belong to CPUs, not to threads.
    pub(crate) is_per_cpu: bool,
    /// A ring was kept until it was requested.
    pub(crate) is_snapshot: bool,
}

/// One record.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    kind: u32,
    misc: u16,
    body: Vec<u8>,
}

impl Record {
    fn new(kind: u32, misc: u16) -> Record {
        Record { kind, misc, body: Vec::new() }
    }

    fn u32s<const N: usize>(mut self, fields: [u32; N]) -> Record {
        for field in fields {
            self.body.extend(field.to_le_bytes());
        }
        self
    }

    fn u64s<const N: usize>(mut self, fields: [u64; N]) -> Record {
        for field in fields {
            self.body.extend(field.to_le_bytes());
        }
        self
    }

    /// A name, ended and padded with zeros to a multiple of 8.
    fn name(mut self, name: &str) -> Record {
        self.body.extend(name.as_bytes());
        self.body.push(0);
        self.padded()
    }

    fn padded(mut self) -> Record {
        self.body.resize(self.body.len().next_multiple_of(8), 0);
        self
    }

    fn from(self, origin: Origin) -> Record {
        let Origin { pid, tid, time, cpu, id } = origin;
        self.u32s([pid, tid]).u64s([time]).u32s([cpu, 0]).u64s([id])
    }

    /// Header and body.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = self.kind.to_le_bytes().to_vec();
        out.extend(self.misc.to_le_bytes());
        out.extend((8 + self.body.len() as u16).to_le_bytes());
        out.extend(&self.body);
        out
    }

    /// The kernel's text, as perf announces it.
    pub(crate) fn kernel_mapping(address: u64, size: u64, origin: Origin) -> Record {
        let record = Record::new(1, KERNEL).u32s([u32::MAX, 0]).u64s([address, size, address]);
        record.name("[kernel.kallsyms]_text").from(origin)
    }

    pub(crate) fn lost(count: u64, origin: Origin) -> Record {
        Record::new(2, 0).u64s([origin.id, count]).from(origin)
    }

    /// A thread's name, as perf makes it up for what ran before: no exec.
    pub(crate) fn comm(name: &str, origin: Origin) -> Record {
        Record::new(3, 0).u32s([origin.pid, origin.tid]).name(name).from(origin)
    }

    pub(crate) fn fork(parent: u32, origin: Origin) -> Record {
        let Origin { pid, tid, time, .. } = origin;
        Record::new(7, 0).u32s([pid, parent, tid, parent]).u64s([time]).from(origin)
    }

    /// A file mapped as code, with the program's build ID.
    pub(crate) fn mapping(mapping: &Mapping, build_id: [u8; 20], origin: Origin) -> Record {
        // Bit 14 of misc: a build ID stands where device and inode would.
        mapped(USER | 1 << 14, mapping, &[&[20, 0, 0, 0], build_id.as_slice()].concat(), origin)
    }

    /// A file mapped as code, of which no build ID is known.
    pub(crate) fn mapping_by_inode(mapping: &Mapping, origin: Origin) -> Record {
        mapped(USER, mapping, &[0; 24], origin)
    }

    /// Memory without a file that holds code.
    pub(crate) fn anonymous_mapping(address: u64, size: u64, origin: Origin) -> Record {
        let mapping = Mapping { address, size, file_offset: 0, path: "//anon".to_owned() };
        Record::mapping_by_inode(&mapping, origin)
    }

    /// A tracepoint met at `ip`: IDENTIFIER, IP, TID, TIME, CPU, RAW.
    pub(crate) fn sample(ip: u64, raw: &[u8], origin: Origin) -> Record {
        let record = Record::sampled(ip, origin);
        // The size and the bytes together fill words of 8 bytes; the padding counts as raw bytes.
        let size = (raw.len() + 4).next_multiple_of(8) - 4;
        let mut record = record.u32s([size as u32]);
        record.body.extend(raw);
        record.padded()
    }

    /// The same in a thread of this control group.
    pub(crate) fn sample_in_group(ip: u64, raw: &[u8], group: u64, origin: Origin) -> Record {
        Record::sample(ip, raw, origin).u64s([group])
    }

    /// A precise sample of the instruction at `ip`: IDENTIFIER, IP, TID, TIME, CPU, PERIOD, `WEIGHT_STRUCT`.
    pub(crate) fn precise(ip: u64, period: u64, weight: u64, origin: Origin) -> Record {
        Record::sampled(ip, origin).u64s([period, weight])
    }

    /// A sample at `ip` with what a group's counters stand at, by their ids: IDENTIFIER, IP, TID, TIME, CPU, PERIOD, READ.
    pub(crate) fn counted(ip: u64, period: u64, counters: &[(u64, u64)], origin: Origin) -> Record {
        let record = Record::sampled(ip, origin).u64s([period, counters.len() as u64]);
        counters.iter().fold(record, |record, &(value, id)| record.u64s([value, id]))
    }

    /// A sample at `ip` with the bytes of the trace before it: IDENTIFIER, IP, TID, TIME, CPU, AUX.
    pub(crate) fn sample_with_trace(ip: u64, trace: &[u8], origin: Origin) -> Record {
        let mut record = Record::sampled(ip, origin).u64s([trace.len() as u64]);
        record.body.extend(trace);
        record
    }

    /// A load at `ip`: IDENTIFIER, IP, TID, TIME, ADDR, CPU, `DATA_SRC`, `PHYS_ADDR`.
    pub(crate) fn access(ip: u64, data: [u64; 3], Origin { pid, tid, time, cpu, id }: Origin) -> Record {
        let [address, physical, source] = data;
        let record = Record::new(9, if ip < UPPER_HALF { USER } else { KERNEL });
        let record = record.u64s([id, ip]).u32s([pid, tid]).u64s([time, address]);
        record.u32s([cpu, 0]).u64s([source, physical])
    }

    fn sampled(ip: u64, Origin { pid, tid, time, cpu, id }: Origin) -> Record {
        let record = Record::new(9, if ip < UPPER_HALF { USER } else { KERNEL });
        record.u64s([id, ip]).u32s([pid, tid]).u64s([time]).u32s([cpu, 0])
    }

    pub(crate) fn aux(offset: u64, size: u64, flags: u64, origin: Origin) -> Record {
        Record::new(11, 0).u64s([offset, size, flags]).from(origin)
    }

    pub(crate) fn itrace_start(origin: Origin) -> Record {
        Record::new(12, 0).u32s([origin.pid, origin.tid]).from(origin)
    }

    /// The thread in `origin` leaves its CPU to `next`.
    pub(crate) fn switch_out(next: (u32, u32), preempt: bool, origin: Origin) -> Record {
        let misc = SWITCH_OUT | if preempt { SWITCH_OUT_PREEMPT } else { 0 };
        Record::new(15, misc).u32s([next.0, next.1]).from(origin)
    }

    /// The thread in `origin` gets its CPU from `previous`.
    pub(crate) fn switch_in(previous: (u32, u32), origin: Origin) -> Record {
        Record::new(15, 0).u32s([previous.0, previous.1]).from(origin)
    }

    /// The thread in `origin` leaves its CPU, or gets one: as an event of a thread describes it.
    pub(crate) fn switch(out: bool, preempt: bool, origin: Origin) -> Record {
        let preempt = if preempt { SWITCH_OUT_PREEMPT } else { 0 };
        Record::new(14, if out { SWITCH_OUT | preempt } else { 0 }).from(origin)
    }

    /// A control group's path.
    pub(crate) fn cgroup(id: u64, path: &str, origin: Origin) -> Record {
        Record::new(19, 0).u64s([id]).name(path).from(origin)
    }

    /// Code at `address` changes.
    pub(crate) fn text_poke(address: u64, old: &[u8], new: &[u8], origin: Origin) -> Record {
        let mut record = Record::new(20, KERNEL).u64s([address]);
        record.body.extend((old.len() as u16).to_le_bytes());
        record.body.extend((new.len() as u16).to_le_bytes());
        record.body.extend([old, new].concat());
        record.padded().from(origin)
    }

    pub(crate) fn finished_round() -> Record {
        Record::new(68, 0)
    }

    /// Which event on which CPU has which id.
    pub(crate) fn id_index(entries: &[[u64; 4]]) -> Record {
        let record = Record::new(69, 0).u64s([entries.len() as u64]);
        entries.iter().fold(record, |record, &entry| record.u64s(entry))
    }

    /// What a decoder must know of Intel PT on this machine; the order is perf's (`intel_pt_info_fill`).
    pub(crate) fn intel_pt(machine: IntelPt) -> Record {
        let IntelPt { pmu, shift, mult, zero, settings, is_per_cpu, is_snapshot } = machine;
        let is_per_cpu = u64::from(is_per_cpu);
        let ratio = [settings.tsc_numerator, settings.tsc_denominator].map(u64::from);
        Record::new(70, 0)
            .u32s([1, 0])
            // Time can be converted.
            .u64s([u64::from(pmu), shift, mult, zero, 1])
            // TSC, no return compression: bits of `config`.
            .u64s([1 << 10, 1 << 11])
            // Switches come from SWITCH_CPU_WIDE records (per thread from none).
            .u64s([3 * is_per_cpu, u64::from(is_snapshot), is_per_cpu])
            // MTC and its period: bits of `config`.
            .u64s([1 << 9, 0xf << 14])
            .u64s(ratio)
            // CYC: a bit of `config`.
            .u64s([1 << 1, u64::from(settings.tsc_ratio)])
            // No filter.
            .u64s([0, u64::from(settings.event_trace)])
    }

    /// Announces `size` AUX bytes that follow it.
    pub(crate) fn auxtrace(size: u64, offset: u64, reference: u64, place: (u32, u32, u32)) -> Record {
        let (index, tid, cpu) = place;
        Record::new(71, 0).u64s([size, offset, reference]).u32s([index, tid, cpu, 0])
    }

    pub(crate) fn time_conversion(shift: u64, mult: u64, zero: u64) -> Record {
        Record::new(79, 0).u64s([shift, mult, zero, 0, 0]).u32s([1, 0])
    }
}

/// MMAP2; `identity` is 24 bytes: device and inode, or a build ID.
fn mapped(misc: u16, mapping: &Mapping, identity: &[u8], origin: Origin) -> Record {
    let Mapping { address, size, file_offset, path } = mapping;
    let record = Record::new(10, misc).u32s([origin.pid, origin.tid]);
    let mut record = record.u64s([*address, *size, *file_offset]);
    record.body.extend(identity);
    // PROT_READ | PROT_EXEC, MAP_PRIVATE
    record.u32s([5, 2]).name(path).from(origin)
}
