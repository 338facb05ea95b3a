//! Samples: the fields that the attribute's `sample_type` announces, in the kernel's order.
//!
//! Source: `PERF_RECORD_SAMPLE` in `include/uapi/linux/perf_event.h`.

use std::ops::Range;

use model::ThreadId;

use super::counters::{CounterRead, Weight};
use super::data_source::DataSource;
use super::header::HEADER_SIZE;
use super::layout::{Identity, Schema, cpu, time};
use crate::attr::{Attr, sample_type as st};
use crate::bytes::Fields;
use crate::tracepoint::{FieldValue, TracepointFormat};

/// `PERF_SAMPLE_BRANCH_*` bits that change the layout of a branch stack.
const BRANCH_HW_INDEX: u64 = 1 << 17;
const BRANCH_COUNTERS: u64 = 1 << 19;
/// Bytes of a branch stack entry: from, to, flags.
const BRANCH_ENTRY_SIZE: u64 = 24;

/// A sample. Fields that its event does not record are `None`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Sample<'a> {
    /// The event it belongs to; `None` where its id is in no attribute.
    pub attr: Option<&'a Attr>,
    /// The processor's mode: 1 kernel, 2 user, 3 hypervisor, 4 guest kernel, 5 guest user.
    pub cpu_mode: u8,
    /// Instruction pointer.
    pub ip: Option<u64>,
    /// Data address.
    pub addr: Option<u64>,
    /// Events since the last sample.
    pub period: Option<u64>,
    /// Stream id.
    pub stream_id: Option<u64>,
    /// What the event's counter, or those of its group, stood at.
    pub read: Option<CounterRead<'a>>,
    /// Return addresses, eight bytes each, innermost first, with the kernel's context marks (`-128` and so on).
    pub callchain: Option<&'a [u8]>,
    /// The payload of a tracepoint (or of another raw event).
    pub raw: Option<&'a [u8]>,
    /// Where that stands in the sample's record; its length stands before it, in 4 bytes.
    pub(crate) raw_at: Range<usize>,
    /// Entries {from, to, flags} of 24 bytes each, latest first.
    pub branch_stack: Option<&'a [u8]>,
    /// What the instruction cost.
    pub weight: Option<Weight>,
    /// Where the data came from.
    pub data_src: Option<DataSource>,
    /// Flags of a transaction.
    pub transaction: Option<u64>,
    /// Physical data address.
    pub phys_addr: Option<u64>,
    /// Control group.
    pub cgroup: Option<u64>,
    /// AUX bytes taken with this sample (`--aux-sample`).
    pub aux: Option<&'a [u8]>,
    /// Where those bytes stand in the sample's record.
    pub(crate) aux_at: Range<usize>,
    format: Option<&'a TracepointFormat>,
}

/// `PERF_CONTEXT_USER_DEFERRED`, the last context mark of a callchain: a cookie follows it, and no address.
const USER_DEFERRED: u64 = u64::MAX - 639;

impl<'a> Sample<'a> {
    /// The event's name, as `sched:sched_switch`.
    pub fn event_name(&self) -> Option<&'a str> {
        self.attr.and_then(|attr| attr.name.as_deref())
    }

    /// The format of the payload, for reading several fields of many samples.
    pub fn format(&self) -> Option<&'a TracepointFormat> {
        self.format
    }

    /// A field of the tracepoint by its name (`next_pid`), `None` where there is no such field.
    pub fn field(&self, name: &str) -> Option<FieldValue<'a>> {
        self.format?.field(name)?.value(self.raw?)
    }

    /// Return addresses, innermost first, context marks left out.
    pub fn callchain_addresses(&self) -> impl Iterator<Item = u64> {
        return_addresses(self.callchain.unwrap_or(&[]))
    }

    /// The cookie of the record ([`super::Record::CallchainDeferred`]) that will have the user's part of the callchain.
    pub fn callchain_cookie(&self) -> Option<u64> {
        words(self.callchain.unwrap_or(&[])).skip_while(|&word| word != USER_DEFERRED).nth(1)
    }
}

/// The addresses of a callchain of a sample or of [`super::Record::CallchainDeferred`]: context marks, and a cookie after the last of
/// them, left out.
pub fn return_addresses(callchain: &[u8]) -> impl Iterator<Item = u64> {
    // Context marks are the last 4095 numbers (PERF_CONTEXT_MAX).
    const FIRST_MARK: u64 = u64::MAX - 4094;
    let words = words(callchain).take_while(|&word| word != USER_DEFERRED);
    words.filter(|&address| address < FIRST_MARK)
}

fn words(callchain: &[u8]) -> impl Iterator<Item = u64> {
    callchain.chunks_exact(8).filter_map(|chunk| Fields::new(chunk).u64())
}

/// The sample of a record with this `misc` and body, and when, where and of which thread it was taken.
#[allow(clippy::cast_possible_truncation)] // Three bits.
pub(super) fn parse<'a>(schema: Schema<'a>, misc: u16, body: &'a [u8]) -> Option<(Sample<'a>, Identity)> {
    let known = schema.layout.attr_of_sample(body).and_then(|number| schema.attrs.get(number));
    let attr = known.or_else(|| schema.attrs.first().filter(|_| schema.layout.is_uniform()))?;
    let bits = attr.sample_type;
    let mut fields = Fields::new(body);
    let mut sample = Sample { attr: known, cpu_mode: (misc & 7) as u8, ..Sample::default() };
    let take = |bit, fields: &mut Fields<'a>| {
        if bits & bit == 0 { Some(None) } else { fields.u64().map(Some) }
    };
    let identifier = take(st::IDENTIFIER, &mut fields)?;
    sample.ip = take(st::IP, &mut fields)?;
    let thread = take(st::TID, &mut fields)?.map(thread_of);
    let sample_time = take(st::TIME, &mut fields)?.and_then(time);
    sample.addr = take(st::ADDR, &mut fields)?;
    let id = take(st::ID, &mut fields)?.or(identifier);
    sample.stream_id = take(st::STREAM_ID, &mut fields)?;
    let cpu = take(st::CPU, &mut fields)?.and_then(|word| cpu(word as u32));
    sample.period = take(st::PERIOD, &mut fields)?;
    parse_payload(&mut sample, attr, &mut fields, body.len())?;
    sample.format =
        known.filter(|attr| attr.is_tracepoint()).and_then(|attr| schema.formats.by_id(attr.config));
    Some((sample, Identity { thread, time: sample_time, cpu, id }))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // Two halves of a word.
fn thread_of(word: u64) -> ThreadId {
    ThreadId::new(word as i32, (word >> 32) as i32)
}

/// The fields of variable length, and those after them.
fn parse_payload<'a>(
    sample: &mut Sample<'a>,
    attr: &Attr,
    fields: &mut Fields<'a>,
    body_len: usize,
) -> Option<()> {
    let has = |bit| attr.sample_type & bit != 0;
    if has(st::READ) {
        sample.read = Some(CounterRead::parse(attr.read_format, fields)?);
    }
    if has(st::CALLCHAIN) {
        let count = fields.u64()?;
        sample.callchain = Some(fields.counted_bytes(count.checked_mul(8)?)?);
    }
    if has(st::RAW) {
        let size = fields.u32()?;
        let start = HEADER_SIZE + body_len - fields.rest().len();
        let bytes = fields.bytes(size as usize)?;
        sample.raw = Some(bytes);
        sample.raw_at = start..start + bytes.len();
    }
    if has(st::BRANCH_STACK) {
        sample.branch_stack = Some(branch_stack(attr.branch_sample_type, fields)?);
    }
    if has(st::REGS_USER) {
        skip_registers(attr.sample_regs_user, fields)?;
    }
    if has(st::STACK_USER) {
        let size = fields.u64()?;
        fields.counted_bytes(size)?;
        if size != 0 {
            fields.u64()?;
        }
    }
    parse_data_fields(sample, attr, fields)?;
    if has(st::AUX) {
        let size = fields.u64()?;
        let start = HEADER_SIZE + body_len - fields.rest().len();
        let bytes = fields.counted_bytes(size)?;
        sample.aux = Some(bytes);
        sample.aux_at = start..start + bytes.len();
    }
    Some(())
}

/// The fields about the data access, which stand between the user stack and the AUX bytes.
fn parse_data_fields(sample: &mut Sample<'_>, attr: &Attr, fields: &mut Fields<'_>) -> Option<()> {
    let has = |bit| attr.sample_type & bit != 0;
    if has(st::WEIGHT | st::WEIGHT_STRUCT) {
        sample.weight = Some(Weight::new(fields.u64()?, has(st::WEIGHT_STRUCT)));
    }
    if has(st::DATA_SRC) {
        sample.data_src = Some(DataSource(fields.u64()?));
    }
    if has(st::TRANSACTION) {
        sample.transaction = Some(fields.u64()?);
    }
    if has(st::REGS_INTR) {
        skip_registers(attr.sample_regs_intr, fields)?;
    }
    if has(st::PHYS_ADDR) {
        sample.phys_addr = Some(fields.u64()?);
    }
    if has(st::CGROUP) {
        sample.cgroup = Some(fields.u64()?);
    }
    if has(st::DATA_PAGE_SIZE) {
        fields.u64()?;
    }
    if has(st::CODE_PAGE_SIZE) {
        fields.u64()?;
    }
    Some(())
}

fn branch_stack<'a>(kinds: u64, fields: &mut Fields<'a>) -> Option<&'a [u8]> {
    let count = fields.u64()?;
    if kinds & BRANCH_HW_INDEX != 0 {
        fields.u64()?;
    }
    let entries = fields.counted_bytes(count.checked_mul(BRANCH_ENTRY_SIZE)?)?;
    if kinds & BRANCH_COUNTERS != 0 {
        fields.counted_bytes(count.checked_mul(8)?)?;
    }
    Some(entries)
}

fn skip_registers(mask: u64, fields: &mut Fields<'_>) -> Option<()> {
    // An ABI of 0 says that there are none.
    if fields.u64()? != 0 {
        fields.bytes(mask.count_ones() as usize * 8)?;
    }
    Some(())
}
