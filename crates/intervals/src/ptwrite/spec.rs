//! The text that says what the bits of a PTWRITE payload mean.
//!
//! `NAME=FIELD` with commas between; a field is `LOW..HIGH` (bit 0 lowest, both inclusive) or one bit. `begin` and `end`
//! are not fields but the values of `tag`.

use std::str::FromStr;

use crate::error::Error;

/// Bits `low` to `high` of a payload, both included; bit 0 is the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    low: u32,
    high: u32,
}

/// How payloads mark intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtwriteForm {
    /// One mark at the stop, whose field leads back to the start.
    Stop {
        /// The interval's length in ticks.
        ticks: BitField,
    },
    /// A mark at the start and one at the stop.
    Pair {
        /// The field that distinguishes them.
        tag: BitField,
        /// Its value at the start.
        begin: u64,
        /// Its value at the stop.
        end: u64,
    },
}

/// What the bits of a payload mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtwriteSpec {
    /// How payloads mark intervals.
    pub form: PtwriteForm,
    /// The interval's id; for pairs also what pairs them across threads.
    pub id: Option<BitField>,
    /// The low bits of the address of the label's text. With a label, `id` is the interval's key, and all of its bits set mean
    /// that there is none: such marks nest on their thread.
    pub label: Option<BitField>,
    /// All other fields, by name.
    pub counters: Vec<(String, BitField)>,
}

impl BitField {
    /// Bits `low` to `high`; `None` where they are not in order or after bit 63.
    pub fn new(low: u32, high: u32) -> Option<BitField> {
        (low <= high && high < 64).then_some(BitField { low, high })
    }

    /// How many bits.
    pub fn width(self) -> u32 {
        self.high - self.low + 1
    }

    /// The highest value it can hold.
    pub fn highest(self) -> u64 {
        u64::MAX >> (64 - self.width())
    }

    /// Its value in `payload`.
    pub fn of(self, payload: u64) -> u64 {
        (payload >> self.low) & self.highest()
    }

    fn overlaps(self, other: BitField) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// The parts of the text, before it is known whether they fit together.
#[derive(Default)]
struct Parts {
    begin: Option<u64>,
    end: Option<u64>,
    tag: Option<BitField>,
    id: Option<BitField>,
    ticks: Option<BitField>,
    label: Option<BitField>,
    counters: Vec<(String, BitField)>,
}

const FORMS: &str = "write `id=40..63,ticks=0..39` (a marker at the stop) or `begin=0x51,end=0x52,tag=56..63,id=32..55` (a pair of markers)";

impl FromStr for PtwriteSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<PtwriteSpec, Error> {
        let refuse = |what: String| Error::PtwriteSpec { spec: text.to_owned(), what };
        let mut parts = Parts::default();
        for part in text.split(',') {
            parts.take(part.trim()).map_err(refuse)?;
        }
        parts.together().map_err(refuse)
    }
}

impl Parts {
    fn take(&mut self, part: &str) -> Result<(), String> {
        let (name, value) =
            part.split_once('=').ok_or_else(|| format!("{part:?} is not NAME=VALUE; {FORMS}"))?;
        let (name, value) = (name.trim(), value.trim());
        let fresh = match name {
            "" => return Err(format!("{part:?} has no name; {FORMS}")),
            "begin" => self.begin.replace(constant(name, value)?).is_none(),
            "end" => self.end.replace(constant(name, value)?).is_none(),
            "tag" => self.tag.replace(field(name, value)?).is_none(),
            "id" => self.id.replace(field(name, value)?).is_none(),
            "label" => self.label.replace(field(name, value)?).is_none(),
            "ticks" => self.ticks.replace(field(name, value)?).is_none(),
            _ => {
                let fresh = self.counters.iter().all(|(other, _)| other != name);
                self.counters.push((name.to_owned(), field(name, value)?));
                fresh
            }
        };
        if fresh { Ok(()) } else { Err(format!("{name} is named twice")) }
    }

    fn together(self) -> Result<PtwriteSpec, String> {
        let form = match (self.ticks, self.begin, self.end, self.tag) {
            (Some(ticks), None, None, None) => PtwriteForm::Stop { ticks },
            (None, Some(begin), Some(end), Some(tag)) => {
                for (name, value) in [("begin", begin), ("end", end)] {
                    if value > tag.highest() {
                        return Err(format!(
                            "{name}={value:#x} does not fit in the {} bits of tag",
                            tag.width()
                        ));
                    }
                }
                if begin == end {
                    return Err(
                        "begin and end are the same value, so markers cannot be distinguished".to_owned()
                    );
                }
                PtwriteForm::Pair { tag, begin, end }
            }
            (Some(_), ..) => return Err(format!("ticks excludes begin, end and tag; {FORMS}")),
            _ => return Err(format!("neither ticks nor begin, end and tag are all there; {FORMS}")),
        };
        let named = [("tag", self.tag), ("ticks", self.ticks), ("label", self.label)];
        for (name, other) in named {
            if let (Some(id), Some(other)) = (self.id, other)
                && id.overlaps(other)
            {
                return Err(format!("id and {name} share bits"));
            }
        }
        Ok(PtwriteSpec { form, id: self.id, label: self.label, counters: self.counters })
    }
}

fn field(name: &str, value: &str) -> Result<BitField, String> {
    let (low, high) = value.split_once("..").unwrap_or((value, value));
    let high = high.strip_prefix('=').unwrap_or(high);
    let bit = |text: &str| {
        let digits = text.len() <= 3 && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (Some(low), Some(high)) = (bit(low.trim()), bit(high.trim())) else {
        return Err(format!(
            "{name}={value} is not a bit field: write LOW..HIGH, both from 0 to 63, or one bit"
        ));
    };
    if low > high {
        return Err(format!("{name}={value} runs backwards: write {name}={high}..{low}"));
    }
    BitField::new(low, high)
        .ok_or_else(|| format!("{name}={value} is beyond bit 63, the highest of a payload"))
}

fn constant(name: &str, value: &str) -> Result<u64, String> {
    let number = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        None if value.bytes().all(|byte| byte.is_ascii_digit()) => value.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| format!("{name}={value} is not a number: write the value of tag, as {name}=0x51"))
}
