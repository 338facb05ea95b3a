//! The part of a sample that begins with its fields of variable length.
//!
//! Source: `PERF_RECORD_SAMPLE` in `include/uapi/linux/perf_event.h`.

use std::ops::Range;

use crate::attr::{Attr, sample_type as st};
use crate::bytes::Fields;
use crate::record::counters::{CounterRead, Weight};
use crate::record::data_source::DataSource;
use crate::record::header::HEADER_SIZE;

/// `PERF_SAMPLE_BRANCH_*` bits that change the layout of a branch stack.
const BRANCH_HW_INDEX: u64 = 1 << 17;
const BRANCH_COUNTERS: u64 = 1 << 19;
/// Bytes of a branch stack entry: from, to, flags.
const BRANCH_ENTRY_SIZE: u64 = 24;

/// Where bytes stand in a record's body, which has less than 64 KiB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    start: u16,
    end: u16,
}

impl Place {
    /// Of `bytes`, which `fields` have just read out of a body of `body_len` bytes.
    #[allow(clippy::cast_possible_truncation)]
    fn before(fields: &Fields<'_>, bytes: &[u8], body_len: usize) -> Place {
        let end = body_len - fields.rest().len();
        Place { start: (end - bytes.len()) as u16, end: end as u16 }
    }

    /// In the body.
    pub(super) fn range(self) -> Range<usize> {
        usize::from(self.start)..usize::from(self.end)
    }

    /// In the record, header and all.
    pub(super) fn in_record(self) -> Range<usize> {
        HEADER_SIZE + usize::from(self.start)..HEADER_SIZE + usize::from(self.end)
    }
}

/// The fields of variable length, and those after them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Payload<'a> {
    pub(super) read: Option<CounterRead<'a>>,
    pub(super) callchain: Option<&'a [u8]>,
    pub(super) raw: Option<Place>,
    pub(super) branch_stack: Option<&'a [u8]>,
    pub(super) weight: Option<Weight>,
    pub(super) data_src: Option<DataSource>,
    pub(super) transaction: Option<u64>,
    pub(super) phys_addr: Option<u64>,
    pub(super) cgroup: Option<u64>,
    pub(super) aux: Option<Place>,
}

impl<'a> Payload<'a> {
    /// Reads it from where it begins in a body of `body_len` bytes; `None` where a field does not fit.
    #[inline]
    pub(super) fn parse(attr: &Attr, fields: &mut Fields<'a>, body_len: usize) -> Option<Payload<'a>> {
        let has = |bit| attr.sample_type & bit != 0;
        let mut payload = Payload::default();
        if has(st::READ) {
            payload.read = Some(CounterRead::parse(attr.read_format, fields)?);
        }
        if has(st::CALLCHAIN) {
            let count = fields.u64()?;
            payload.callchain = Some(fields.counted_bytes(count.checked_mul(8)?)?);
        }
        if has(st::RAW) {
            let size = fields.u32()?;
            let bytes = fields.bytes(size as usize)?;
            payload.raw = Some(Place::before(fields, bytes, body_len));
        }
        if attr.sample_type & AFTER_RAW != 0 {
            payload.parse_after_raw(attr, fields, body_len)?;
        }
        Some(payload)
    }

    /// What few events record.
    fn parse_after_raw(&mut self, attr: &Attr, fields: &mut Fields<'a>, body_len: usize) -> Option<()> {
        let has = |bit| attr.sample_type & bit != 0;
        if has(st::BRANCH_STACK) {
            self.branch_stack = Some(branch_stack(attr.branch_sample_type, fields)?);
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
        self.parse_of_access(attr, fields)?;
        if has(st::AUX) {
            let size = fields.u64()?;
            let bytes = fields.counted_bytes(size)?;
            self.aux = Some(Place::before(fields, bytes, body_len));
        }
        Some(())
    }

    /// The fields about the data access, which stand between the user stack and the AUX bytes.
    fn parse_of_access(&mut self, attr: &Attr, fields: &mut Fields<'_>) -> Option<()> {
        let has = |bit| attr.sample_type & bit != 0;
        if has(st::WEIGHT | st::WEIGHT_STRUCT) {
            self.weight = Some(Weight::new(fields.u64()?, has(st::WEIGHT_STRUCT)));
        }
        if has(st::DATA_SRC) {
            self.data_src = Some(DataSource(fields.u64()?));
        }
        if has(st::TRANSACTION) {
            self.transaction = Some(fields.u64()?);
        }
        if has(st::REGS_INTR) {
            skip_registers(attr.sample_regs_intr, fields)?;
        }
        if has(st::PHYS_ADDR) {
            self.phys_addr = Some(fields.u64()?);
        }
        if has(st::CGROUP) {
            self.cgroup = Some(fields.u64()?);
        }
        if has(st::DATA_PAGE_SIZE) {
            fields.u64()?;
        }
        if has(st::CODE_PAGE_SIZE) {
            fields.u64()?;
        }
        Some(())
    }
}

/// What is recorded after the raw payload.
pub(super) const AFTER_RAW: u64 = st::BRANCH_STACK
    | st::REGS_USER
    | st::STACK_USER
    | st::WEIGHT
    | st::WEIGHT_STRUCT
    | st::DATA_SRC
    | st::TRANSACTION
    | st::REGS_INTR
    | st::PHYS_ADDR
    | st::CGROUP
    | st::DATA_PAGE_SIZE
    | st::CODE_PAGE_SIZE
    | st::AUX;

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
