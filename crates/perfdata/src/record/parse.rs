//! Parses one record: header, kernel fields, trailer. perf's own records are in [`super::user`].

use model::{FileOffset, InodeId, ThreadId};

use super::header::{HEADER_SIZE, Header};
use super::layout::{Identity, Schema, thread};
use super::{Exchange, Mmap, Record, TimedRecord, kinds, sample, user};
use crate::aux::AuxFlags;
use crate::bytes::Fields;

/// `PERF_RECORD_MISC_*` bits; 12 to 15 mean different things in different records.
mod misc {
    pub(super) const MMAP_DATA: u16 = 1 << 13;
    pub(super) const COMM_EXEC: u16 = 1 << 13;
    pub(super) const SWITCH_OUT: u16 = 1 << 13;
    pub(super) const SWITCH_OUT_PREEMPT: u16 = 1 << 14;
    pub(super) const MMAP_BUILD_ID: u16 = 1 << 14;
}

/// `PROT_EXEC` of MMAP2's protection bits.
const PROT_EXEC: u32 = 4;

/// The record at the start of `bytes`; `None` where not even its header says a length that fits.
pub(crate) fn parse<'a>(schema: Schema<'a>, offset: FileOffset, bytes: &'a [u8]) -> Option<TimedRecord<'a>> {
    let header = Header::read(bytes)?;
    let body = bytes.get(HEADER_SIZE..usize::from(header.size))?;
    let unplaced = |record| TimedRecord { offset, time: None, cpu: None, thread: None, id: None, record };
    if header.kind >= kinds::FIRST_USER_KIND {
        let record = user::parse(header, body).unwrap_or(Record::Damaged { kind: header.kind });
        let time = match &record {
            Record::AuxtraceError(error) => error.time,
            _ => None,
        };
        return Some(TimedRecord { time, ..unplaced(record) });
    }
    let (record, identity) = if header.kind == kinds::SAMPLE {
        match sample::parse(schema, header.misc, body) {
            Some((sample, identity)) => (Some(Record::Sample(sample)), identity),
            None => (None, Identity::default()),
        }
    } else {
        let (own, identity) = schema.layout.split_trailer(body);
        let record = match header.kind {
            kinds::MMAP2 => mmap2(header, &mut Fields::new(own), schema.layout.has_build_ids(identity.id)),
            _ => parse_kernel(header, &mut Fields::new(own)),
        };
        (record, identity)
    };
    let record = record.unwrap_or(Record::Damaged { kind: header.kind });
    let (time, cpu, thread, id) = (identity.time, identity.cpu, identity.thread, identity.id);
    Some(TimedRecord { offset, time, cpu, thread, id, record })
}

/// As [`parse`], of a sample of the event with this number, of which what a label says is known: all of `known` but the id.
pub(crate) fn parse_sample<'a>(
    schema: Schema<'a>,
    offset: FileOffset,
    bytes: &'a [u8],
    event: usize,
    known: Identity,
) -> Option<TimedRecord<'a>> {
    let header = Header::read(bytes)?;
    let body = bytes.get(HEADER_SIZE..usize::from(header.size))?;
    let Some((sample, id)) = sample::parse_of(schema, header.misc, body, event) else {
        return parse(schema, offset, bytes);
    };
    let Identity { time, cpu, thread, .. } = known;
    Some(TimedRecord { offset, time, cpu, thread, id, record: Record::Sample(sample) })
}

/// What a SWITCH record says, or a `SWITCH_CPU_WIDE` record where it `names_other`: of its trailer nothing is read. `None` where it
/// is cut short.
pub(crate) fn parse_exchange(schema: Schema<'_>, bytes: &[u8], names_other: bool) -> Option<Exchange> {
    let header = Header::read(bytes)?;
    let own = schema.layout.own_fields(bytes.get(HEADER_SIZE..usize::from(header.size))?);
    let set = |bit| header.misc & bit != 0;
    let other = if names_other { Some(thread(&mut Fields::new(own))?) } else { None };
    Some(Exchange { out: set(misc::SWITCH_OUT), preempt: set(misc::SWITCH_OUT_PREEMPT), other })
}

/// The kernel's records, samples and MMAP2 excepted.
fn parse_kernel<'a>(header: Header, fields: &mut Fields<'a>) -> Option<Record<'a>> {
    let set = |bit| header.misc & bit != 0;
    Some(match header.kind {
        kinds::MMAP => Record::Mmap(mmap(header, fields)?),
        kinds::COMM => {
            let thread = thread(fields)?;
            Record::Comm { thread, name: fields.c_string(), exec: set(misc::COMM_EXEC) }
        }
        kinds::FORK | kinds::EXIT => fork_or_exit(header, fields)?,
        kinds::LOST => Record::Lost { id: fields.u64()?, lost: fields.u64()? },
        kinds::LOST_SAMPLES => Record::LostSamples { lost: fields.u64()? },
        kinds::READ => Record::Read { thread: thread(fields)? },
        kinds::THROTTLE => {
            Record::Throttle { time: fields.u64()?, id: fields.u64()?, stream_id: fields.u64()? }
        }
        kinds::UNTHROTTLE => {
            Record::Unthrottle { time: fields.u64()?, id: fields.u64()?, stream_id: fields.u64()? }
        }
        kinds::SWITCH => {
            Record::Switch { out: set(misc::SWITCH_OUT), preempt: set(misc::SWITCH_OUT_PREEMPT) }
        }
        kinds::SWITCH_CPU_WIDE => {
            let (out, preempt) = (set(misc::SWITCH_OUT), set(misc::SWITCH_OUT_PREEMPT));
            Record::SwitchCpuWide { out, preempt, other: thread(fields)? }
        }
        kinds::ITRACE_START => Record::ItraceStart { thread: thread(fields)? },
        kinds::AUX => {
            Record::Aux { offset: fields.u64()?, size: fields.u64()?, flags: AuxFlags(fields.u64()?) }
        }
        kinds::AUX_OUTPUT_HW_ID => Record::AuxOutputHwId { hw_id: fields.u64()? },
        kinds::CALLCHAIN_DEFERRED => {
            let (cookie, count) = (fields.u64()?, fields.u64()?);
            Record::CallchainDeferred { cookie, callchain: fields.counted_bytes(count.checked_mul(8)?)? }
        }
        kinds::NAMESPACES => Record::Namespaces { thread: thread(fields)? },
        kinds::KSYMBOL => {
            let (address, len) = (fields.u64()?, fields.u32()?);
            let (kind, flags) = (fields.u16()?, fields.u16()?);
            Record::Ksymbol { address, len, kind, flags, name: fields.c_string() }
        }
        kinds::BPF_EVENT => {
            let (kind, flags, id) = (fields.u16()?, fields.u16()?, fields.u32()?);
            Record::Bpf { kind, flags, id, tag: fields.u64()?.to_le_bytes() }
        }
        kinds::CGROUP => Record::Cgroup { id: fields.u64()?, path: fields.c_string() },
        kinds::TEXT_POKE => text_poke(fields)?,
        kind => Record::Unknown { kind },
    })
}

fn mmap<'a>(header: Header, fields: &mut Fields<'a>) -> Option<Mmap<'a>> {
    Some(Mmap {
        thread: thread(fields)?,
        address: fields.u64()?,
        len: fields.u64()?,
        file_offset: fields.u64()?,
        path: fields.c_string(),
        executable: header.misc & misc::MMAP_DATA == 0,
        build_id: &[],
        inode: None,
    })
}

/// `requested`: whether the event's attribute has `build_id`. The misc bit alone proves nothing: one recording's request
/// shows in the records of others that made none (seen with Linux 6.18), and they hold device and inode.
fn mmap2<'a>(header: Header, fields: &mut Fields<'a>, requested: bool) -> Option<Record<'a>> {
    let (thread, address, len) = (thread(fields)?, fields.u64()?, fields.u64()?);
    let file_offset = fields.u64()?;
    // Either device, inode and generation, or {length, padding, build ID of up to 20 bytes}.
    let file = fields.bytes(24)?;
    let (build_id, inode) = match file.split_first() {
        Some((&length, rest)) if requested && header.misc & misc::MMAP_BUILD_ID != 0 => {
            (rest.get(3..3 + usize::from(length).min(20)).unwrap_or(&[]), None)
        }
        _ => (&[][..], inode(file)),
    };
    let (protection, _flags) = (fields.u32()?, fields.u32()?);
    let executable = protection & PROT_EXEC != 0 && header.misc & misc::MMAP_DATA == 0;
    let path = fields.c_string();
    Some(Record::Mmap2(Mmap { thread, address, len, file_offset, path, executable, build_id, inode }))
}

/// Memory without a file has the number zero.
fn inode(file: &[u8]) -> Option<InodeId> {
    let mut fields = Fields::new(file);
    let device = (fields.u32()?, fields.u32()?);
    let (inode, generation) = (fields.u64()?, fields.u64()?);
    (inode != 0).then_some(InodeId { device, inode, generation })
}

fn fork_or_exit<'a>(header: Header, fields: &mut Fields<'_>) -> Option<Record<'a>> {
    // Both processes stand before both threads.
    let (child_pid, parent_pid) = (fields.i32()?, fields.i32()?);
    let (thread, parent) =
        (ThreadId::new(child_pid, fields.i32()?), ThreadId::new(parent_pid, fields.i32()?));
    let time = fields.u64()?;
    Some(if header.kind == kinds::FORK {
        Record::Fork { thread, parent, time }
    } else {
        Record::Exit { thread, parent, time }
    })
}

fn text_poke<'a>(fields: &mut Fields<'a>) -> Option<Record<'a>> {
    let (address, old_len, new_len) = (fields.u64()?, fields.u16()?, fields.u16()?);
    let old_bytes = fields.bytes(old_len.into())?;
    Some(Record::TextPoke { address, old_bytes, new_bytes: fields.bytes(new_len.into())? })
}
