//! One function a section. `None` says that the section ended too early.

use model::{BuildId, PerfTime};

use super::{ClockData, Compression, EventGroup, Features, FileBuildId, bit, machine};
use crate::attr::Attr;
use crate::bytes::Fields;
use crate::record::Header;
use crate::record::user::build_id as build_id_record;

impl Features {
    pub(super) fn parse_section(&mut self, bit: u32, bytes: &[u8], attrs: &mut Vec<Attr>) -> Option<()> {
        let mut fields = Fields::new(bytes);
        let fields = &mut fields;
        match bit {
            bit::BUILD_ID => return parse_build_ids(bytes, &mut self.build_ids),
            bit::HOSTNAME => self.hostname = Some(fields.string()?),
            bit::OS_RELEASE => self.os_release = Some(fields.string()?),
            bit::VERSION => self.perf_version = Some(fields.string()?),
            bit::ARCH => self.arch = Some(fields.string()?),
            bit::NRCPUS => {
                self.cpus_available = Some(fields.u32()?);
                self.cpus_online = Some(fields.u32()?);
            }
            bit::CPU_DESC => self.cpu_description = Some(fields.string()?),
            bit::CPU_ID => self.cpu_id = Some(fields.string()?),
            bit::TOTAL_MEM => self.total_memory_kib = Some(fields.u64()?),
            bit::COMMAND_LINE => self.command_line = Some(fields.strings()?),
            bit::EVENT_DESC => return parse_event_descriptions(fields, attrs),
            bit::CPU_TOPOLOGY => self.topology = Some(machine::parse_topology(fields, self.cpus_available)?),
            bit::NUMA_TOPOLOGY => return machine::parse_numa(fields, &mut self.numa_nodes),
            bit::PMU_MAPPINGS => return parse_pmu_mappings(fields, &mut self.pmu_mappings),
            bit::GROUP_DESC => return parse_groups(fields, &mut self.groups),
            bit::CACHE => return machine::parse_caches(fields, &mut self.caches),
            bit::SAMPLE_TIME => self.sample_time = Some(PerfTime(fields.u64()?)..PerfTime(fields.u64()?)),
            bit::MEM_TOPOLOGY => self.memory = Some(machine::parse_memory(fields)?),
            bit::CLOCK_ID => self.clock_resolution_ns = Some(fields.u64()?),
            bit::BPF_PROG => self.bpf_programs = Some(fields.u32()?),
            bit::BPF_BTF => self.bpf_types = Some(fields.u32()?),
            bit::COMPRESSED => self.compression = Some(parse_compression(fields)?),
            bit::CPU_PMU_CAPS => return parse_pairs(fields, &mut self.cpu_capabilities),
            bit::HYBRID_TOPOLOGY => return parse_pairs(fields, &mut self.hybrid),
            bit::CLOCK_DATA => self.clock_data = Some(parse_clock_data(fields)?),
            _ => {}
        }
        Some(())
    }
}

/// Entries like the `HEADER_BUILD_ID` record, one after the other.
fn parse_build_ids(mut bytes: &[u8], build_ids: &mut Vec<FileBuildId>) -> Option<()> {
    while !bytes.is_empty() {
        let header = Header::read(bytes)?;
        let size = usize::from(header.size);
        let record = build_id_record(header, bytes.get(8..size)?)?;
        build_ids.extend(BuildId::new(record.build_id).map(|build_id| FileBuildId {
            pid: record.pid,
            path: String::from_utf8_lossy(record.path).into_owned(),
            build_id,
            kernel: record.kernel,
        }));
        bytes = &bytes[size..];
    }
    Some(())
}

/// Attributes again, each with its ids and its name; only the name is new.
fn parse_event_descriptions(fields: &mut Fields<'_>, attrs: &mut Vec<Attr>) -> Option<()> {
    let (count, attr_size) = (fields.u32()?, fields.u32()?);
    let count = fields.count(count.into(), 8)?;
    let only_here = attrs.is_empty();
    for index in 0..count {
        let attr = Attr::parse(fields.bytes(attr_size as usize)?)?;
        let ids = fields.u32()?;
        let name = fields.string()?;
        let ids = fields.counted_bytes(u64::from(ids) * 8)?.chunks_exact(8);
        let ids: Vec<u64> = ids.filter_map(|chunk| Fields::new(chunk).u64()).collect();
        if only_here {
            attrs.push(Attr { name: Some(name), ids, ..attr });
        } else if let Some(same) = attrs.get_mut(index).filter(|same| same.ids == ids) {
            same.name = Some(name);
        } else if let Some(same) = attrs.iter_mut().find(|same| !ids.is_empty() && same.ids == ids) {
            same.name = Some(name);
        }
    }
    Some(())
}

fn parse_pmu_mappings(fields: &mut Fields<'_>, mappings: &mut Vec<(String, u32)>) -> Option<()> {
    let count = fields.u32()?;
    for _ in 0..fields.count(count.into(), 8)? {
        let kind = fields.u32()?;
        mappings.push((fields.string()?, kind));
    }
    Some(())
}

fn parse_groups(fields: &mut Fields<'_>, groups: &mut Vec<EventGroup>) -> Option<()> {
    let count = fields.u32()?;
    for _ in 0..fields.count(count.into(), 12)? {
        groups.push(EventGroup { name: fields.string()?, leader: fields.u32()?, members: fields.u32()? });
    }
    Some(())
}

fn parse_pairs(fields: &mut Fields<'_>, pairs: &mut Vec<(String, String)>) -> Option<()> {
    let count = fields.u32()?;
    for _ in 0..fields.count(count.into(), 8)? {
        pairs.push((fields.string()?, fields.string()?));
    }
    Some(())
}

fn parse_compression(fields: &mut Fields<'_>) -> Option<Compression> {
    let _version = fields.u32()?;
    let (kind, level) = (fields.u32()?, fields.u32()?);
    Some(Compression { kind, level, ratio: fields.u32()?, mmap_len: fields.u32()? })
}

fn parse_clock_data(fields: &mut Fields<'_>) -> Option<ClockData> {
    let _version = fields.u32()?;
    Some(ClockData { clock_id: fields.u32()?, wall_clock_ns: fields.u64()?, clock_ns: fields.u64()? })
}
