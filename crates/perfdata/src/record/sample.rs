//! Samples: the fields that the attribute's `sample_type` announces, in the kernel's order.
//!
//! Source: `PERF_RECORD_SAMPLE` in `include/uapi/linux/perf_event.h`.

mod payload;

use std::ops::Range;

use model::ThreadId;

use self::payload::{Payload, Place};
use super::counters::{CounterRead, Weight};
use super::data_source::DataSource;
use super::header::HEADER_SIZE;
use super::layout::{Identity, Schema, cpu, time, width};
use crate::attr::{Attr, sample_type as st};
use crate::bytes::{Fields, u64_at};
use crate::tracepoint::{FieldValue, TracepointFormat};

/// What stands before the data address.
const BEFORE_ADDR: u64 = st::IDENTIFIER | st::IP | st::TID | st::TIME;
/// What stands before the fields of variable length, one word each.
const FRONT: u64 = BEFORE_ADDR | st::ADDR | st::ID | st::STREAM_ID | st::CPU | st::PERIOD;

/// A sample: its event and its bytes, out of which each field is read when it is wanted; one that its event does not record is
/// `None`.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// By which it is read.
    attr: &'a Attr,
    /// The number of that among all where it is its own; `None` where its id is in no attribute, and all record the same.
    event: Option<u32>,
    cpu_mode: u8,
    /// Where the fields of variable length begin.
    payload_at: u16,
    raw: Option<Place>,
    aux: Option<Place>,
    format: Option<&'a TracepointFormat>,
    /// The record without its header.
    body: &'a [u8],
}

/// `PERF_CONTEXT_USER_DEFERRED`, the last context mark of a callchain: a cookie follows it, and no address.
const USER_DEFERRED: u64 = u64::MAX - 639;

impl<'a> Sample<'a> {
    /// The event it belongs to; `None` where its id is in no attribute.
    pub fn attr(&self) -> Option<&'a Attr> {
        self.event.is_some().then_some(self.attr)
    }

    /// The number of that event among [`PerfData::attrs`](crate::PerfData::attrs).
    pub fn event(&self) -> Option<usize> {
        self.event.map(|number| number as usize)
    }

    /// The event's name, as `sched:sched_switch`.
    pub fn event_name(&self) -> Option<&'a str> {
        self.attr()?.name.as_deref()
    }

    /// The processor's mode: 1 kernel, 2 user, 3 hypervisor, 4 guest kernel, 5 guest user.
    pub fn cpu_mode(&self) -> u8 {
        self.cpu_mode
    }

    /// Instruction pointer.
    pub fn ip(&self) -> Option<u64> {
        self.word(st::IP, st::IDENTIFIER)
    }

    /// Data address.
    pub fn addr(&self) -> Option<u64> {
        self.word(st::ADDR, BEFORE_ADDR)
    }

    /// Events since the last sample.
    pub fn period(&self) -> Option<u64> {
        self.word(st::PERIOD, BEFORE_ADDR | st::ADDR | st::ID | st::STREAM_ID | st::CPU)
    }

    /// Stream id.
    pub fn stream_id(&self) -> Option<u64> {
        self.word(st::STREAM_ID, BEFORE_ADDR | st::ADDR | st::ID)
    }

    /// What the event's counter, or those of its group, stood at.
    pub fn read(&self) -> Option<CounterRead<'a>> {
        self.payload().read
    }

    /// Return addresses, eight bytes each, innermost first, with the kernel's context marks (`-128` and so on).
    pub fn callchain(&self) -> Option<&'a [u8]> {
        self.payload().callchain
    }

    /// The payload of a tracepoint (or of another raw event).
    pub fn raw(&self) -> Option<&'a [u8]> {
        self.body.get(self.raw?.range())
    }

    /// Where that stands in the sample's record; its length stands before it, in 4 bytes.
    pub(crate) fn raw_at(&self) -> Range<usize> {
        self.raw.map_or(0..0, Place::in_record)
    }

    /// Entries {from, to, flags} of 24 bytes each, latest first.
    pub fn branch_stack(&self) -> Option<&'a [u8]> {
        self.payload().branch_stack
    }

    /// What the instruction cost.
    pub fn weight(&self) -> Option<Weight> {
        self.payload().weight
    }

    /// Where the data came from.
    pub fn data_src(&self) -> Option<DataSource> {
        self.payload().data_src
    }

    /// Flags of a transaction.
    pub fn transaction(&self) -> Option<u64> {
        self.payload().transaction
    }

    /// Physical data address.
    pub fn phys_addr(&self) -> Option<u64> {
        self.payload().phys_addr
    }

    /// Control group.
    pub fn cgroup(&self) -> Option<u64> {
        self.payload().cgroup
    }

    /// AUX bytes taken with this sample (`--aux-sample`).
    pub fn aux(&self) -> Option<&'a [u8]> {
        self.body.get(self.aux?.range())
    }

    /// Where those bytes stand in the sample's record.
    pub(crate) fn aux_at(&self) -> Range<usize> {
        self.aux.map_or(0..0, Place::in_record)
    }

    /// The format of the payload, for reading several fields of many samples.
    pub fn format(&self) -> Option<&'a TracepointFormat> {
        self.format
    }

    /// A field of the tracepoint by its name (`next_pid`), `None` where there is no such field.
    pub fn field(&self, name: &str) -> Option<FieldValue<'a>> {
        self.format?.field(name)?.value(self.raw()?)
    }

    /// Return addresses, innermost first, context marks left out.
    pub fn callchain_addresses(&self) -> impl Iterator<Item = u64> {
        return_addresses(self.callchain().unwrap_or(&[]))
    }

    /// The cookie of the record ([`super::Record::CallchainDeferred`]) that will have the user's part of the callchain.
    pub fn callchain_cookie(&self) -> Option<u64> {
        words(self.callchain().unwrap_or(&[])).skip_while(|&word| word != USER_DEFERRED).nth(1)
    }

    /// The word of a field of the front part, which stands after those of `before` that are recorded.
    fn word(&self, field: u64, before: u64) -> Option<u64> {
        let bits = self.attr.sample_type;
        (bits & field != 0).then(|| u64_at(self.body, width(bits & before))).flatten()
    }

    fn payload(&self) -> Payload<'a> {
        let bytes = self.body.get(usize::from(self.payload_at)..).unwrap_or(&[]);
        Payload::parse(self.attr, &mut Fields::new(bytes), self.body.len()).unwrap_or_default()
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

/// The part of a sample before its fields of variable length.
struct Front<'a> {
    /// The number of its attribute, and whether there is one.
    number: Option<usize>,
    is_known: bool,
    /// By which it is read.
    attr: &'a Attr,
    identity: Identity,
    /// What follows.
    rest: Fields<'a>,
}

impl<'a> Front<'a> {
    #[allow(clippy::cast_possible_truncation)] // The CPU is half of a word.
    fn parse(schema: Schema<'a>, body: &'a [u8]) -> Option<Front<'a>> {
        let number = schema.layout.attr_of_sample(body);
        let known = number.and_then(|number| schema.attrs.get(number));
        let attr = known.or_else(|| schema.attrs.first().filter(|_| schema.layout.is_uniform()))?;
        let bits = attr.sample_type;
        let mut fields = Fields::new(body);
        let take = |bit, fields: &mut Fields<'a>| {
            if bits & bit == 0 { Some(None) } else { fields.u64().map(Some) }
        };
        let identifier = take(st::IDENTIFIER, &mut fields)?;
        take(st::IP, &mut fields)?;
        let thread = take(st::TID, &mut fields)?.map(thread_of);
        let time = take(st::TIME, &mut fields)?.and_then(time);
        take(st::ADDR, &mut fields)?;
        let id = take(st::ID, &mut fields)?.or(identifier);
        take(st::STREAM_ID, &mut fields)?;
        let cpu = take(st::CPU, &mut fields)?.and_then(|word| cpu(word as u32));
        take(st::PERIOD, &mut fields)?;
        let identity = Identity { thread, time, cpu, id };
        Some(Front { number, is_known: known.is_some(), attr, identity, rest: fields })
    }
}

/// The sample of a record with this `misc` and body, and when, where and of which thread it was taken.
#[allow(clippy::cast_possible_truncation)] // Three bits; a record has less than 64 KiB, and a file fewer than 2^32 attributes.
pub(super) fn parse<'a>(schema: Schema<'a>, misc: u16, body: &'a [u8]) -> Option<(Sample<'a>, Identity)> {
    let Front { number, is_known, attr, identity, rest: mut fields } = Front::parse(schema, body)?;
    let payload_at = (body.len() - fields.rest().len()) as u16;
    let Payload { raw, aux, .. } = Payload::parse(attr, &mut fields, body.len())?;
    let event = number.filter(|_| is_known);
    let format = event.and_then(|number| schema.format_of(number));
    let (event, cpu_mode) = (event.map(|number| number as u32), (misc & 7) as u8);
    Some((Sample { attr, event, cpu_mode, payload_at, raw, aux, format, body }, identity))
}

/// As [`parse`], of a sample of the attribute with this number, and its id: the rest of its front part is not read.
#[allow(clippy::cast_possible_truncation)] // As there.
pub(super) fn parse_of<'a>(
    schema: Schema<'a>,
    misc: u16,
    body: &'a [u8],
    number: usize,
) -> Option<(Sample<'a>, Option<u64>)> {
    let attr = schema.attrs.get(number)?;
    let payload_at = width(attr.sample_type & FRONT) as u16;
    let mut fields = Fields::new(body.get(usize::from(payload_at)..)?);
    let Payload { raw, aux, .. } = Payload::parse(attr, &mut fields, body.len())?;
    let (format, cpu_mode) = (schema.format_of(number), (misc & 7) as u8);
    let event = Some(number as u32);
    let sample = Sample { attr, event, cpu_mode, payload_at, raw, aux, format, body };
    let id = sample.word(st::ID, BEFORE_ADDR | st::ADDR).or_else(|| sample.word(st::IDENTIFIER, 0));
    Some((sample, id))
}

/// How many bytes a record has before the payload of a sample of `attr`; `None` where fields of variable length surround it.
pub(crate) fn raw_at(attr: &Attr) -> Option<usize> {
    let bits = attr.sample_type;
    let is_alone = bits & st::RAW != 0 && bits & (st::READ | st::CALLCHAIN | payload::AFTER_RAW) == 0;
    is_alone.then_some(HEADER_SIZE + width(bits & FRONT))
}

/// The number of the attribute of a sample that [`parse`] can read, where there is one; and when, where and of which thread it was taken.
pub(crate) fn identify(schema: Schema<'_>, body: &[u8]) -> Option<(Option<usize>, Identity)> {
    let Front { number, is_known, attr, identity, mut rest } = Front::parse(schema, body)?;
    Payload::parse(attr, &mut rest, body.len())?;
    Some((number.filter(|_| is_known), identity))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // Two halves of a word.
fn thread_of(word: u64) -> ThreadId {
    ThreadId::new(word as i32, (word >> 32) as i32)
}
