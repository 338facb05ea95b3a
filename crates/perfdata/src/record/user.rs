//! Parses the records that perf itself writes.
//!
//! Source: `tools/lib/perf/include/perf/event.h` of the Linux tree.

use model::{Pid, ThreadId, Tid, TimeConversion};

use super::header::Header;
use super::layout::{cpu, thread, time};
use super::{AuxtraceError, BuildIdRecord, IdPlaces, Record, kinds};
use crate::bytes::Fields;

/// `PERF_RECORD_MISC_CPUMODE_MASK` and its value for the kernel.
const CPU_MODE_MASK: u16 = 7;
const CPU_MODE_KERNEL: u16 = 1;
/// The build ID's length is recorded (`PERF_RECORD_MISC_BUILD_ID_SIZE`).
const BUILD_ID_SIZE: u16 = 1 << 15;
/// Bytes of an `AUXTRACE_ERROR` message.
const MESSAGE_SIZE: usize = 64;

pub(super) fn parse(header: Header, body: &[u8]) -> Option<Record<'_>> {
    let mut fields = Fields::new(body);
    Some(match header.kind {
        kinds::HEADER_ATTR => Record::HeaderAttr,
        kinds::HEADER_EVENT_TYPE => Record::HeaderEventType,
        kinds::HEADER_TRACING_DATA => Record::HeaderTracingData { size: fields.u32()? },
        kinds::HEADER_BUILD_ID => Record::HeaderBuildId(build_id(header, body)?),
        kinds::HEADER_FEATURE => Record::HeaderFeature { feature: fields.u64()? },
        kinds::FINISHED_ROUND => Record::FinishedRound,
        kinds::FINISHED_INIT => Record::FinishedInit,
        kinds::ID_INDEX => {
            let entries = fields.u64()?;
            Record::IdIndex { entries, places: IdPlaces::of(entries, body.get(8..).unwrap_or_default()) }
        }
        kinds::AUXTRACE_INFO => Record::AuxtraceInfo { kind: fields.u32()? },
        kinds::AUXTRACE => Record::Auxtrace {
            size: fields.u64()?,
            aux_offset: fields.u64()?,
            reference: fields.u64()?,
            idx: fields.u32()?,
            tid: fields.u32()?,
            cpu: fields.u32()?,
        },
        kinds::AUXTRACE_ERROR => Record::AuxtraceError(auxtrace_error(&mut fields)?),
        kinds::THREAD_MAP => Record::ThreadMap { names_threads: names_threads(&mut fields) },
        kinds::CPU_MAP => Record::CpuMap,
        kinds::STAT_CONFIG => Record::StatConfig,
        kinds::STAT => Record::Stat,
        kinds::STAT_ROUND => Record::StatRound,
        kinds::EVENT_UPDATE => Record::EventUpdate,
        kinds::TIME_CONV => {
            Record::TimeConv { conversion: conversion(fields.u64()?, fields.u64()?, fields.u64()?) }
        }
        kinds::COMPRESSED => Record::Compressed { bytes: body },
        kinds::COMPRESSED2 => {
            let size = fields.u64()?;
            Record::Compressed { bytes: fields.counted_bytes(size)? }
        }
        kind => Record::Unknown { kind },
    })
}

/// Whether a map of threads (`struct perf_record_thread_map`: how many, then for each the number in 64 bits and a name) names some;
/// -1 stands for all.
fn names_threads(fields: &mut Fields<'_>) -> bool {
    let (count, first) = (fields.u64(), fields.u64());
    count.is_some_and(|count| count > 0) && first.is_some_and(|first| first != u64::MAX)
}

/// A thread id that an AUXTRACE record names; all ones stand for none.
pub(crate) fn tid(raw: u32) -> Option<Tid> {
    i32::try_from(raw).ok().map(Tid)
}

pub(crate) fn build_id(header: Header, body: &[u8]) -> Option<BuildIdRecord<'_>> {
    let mut fields = Fields::new(body);
    let pid = Pid(fields.i32()?);
    let stored = fields.bytes(24)?;
    // Without the bit the length is unknown and 20 by custom.
    let length = if header.misc & BUILD_ID_SIZE != 0 { usize::from(stored[20]).min(20) } else { 20 };
    let kernel = header.misc & CPU_MODE_MASK == CPU_MODE_KERNEL;
    Some(BuildIdRecord { pid, build_id: &stored[..length], path: fields.c_string(), kernel })
}

/// The conversion of three 64-bit fields; `None` where they cannot be one.
pub(crate) fn conversion(shift: u64, mult: u64, zero: u64) -> Option<TimeConversion> {
    TimeConversion::new(u16::try_from(shift).ok()?, u32::try_from(mult).ok()?, zero)
}

fn auxtrace_error<'a>(fields: &mut Fields<'a>) -> Option<AuxtraceError<'a>> {
    let (kind, code) = (fields.u32()?, fields.u32()?);
    let cpu = cpu(fields.u32()?);
    let thread: ThreadId = thread(fields)?;
    let format = fields.u32()?;
    let ip = fields.u64()?;
    // Before format 1 there was no time.
    let time = if format >= 1 { time(fields.u64()?) } else { None };
    let message = fields.bytes(MESSAGE_SIZE.min(fields.rest().len()))?;
    let message = Fields::new(message).c_string();
    Some(AuxtraceError { kind, code, cpu, thread, ip, time, message })
}
