//! Types of fields, and the reading of their values out of a packet.

use std::rc::Rc;

use super::bits::Bits;

/// The most values of one event: lengths and tags are among them.
pub(super) const MOST_VALUES: usize = 1 << 16;
/// The most ranges of an enumeration where some overlap: then the first one counts that has the value.
pub(super) const MOST_OVERLAPPING: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Integer {
    /// 1 to 64.
    pub(super) bits: u32,
    pub(super) align: u64,
    pub(super) is_signed: bool,
    /// Most significant byte first; `None`: as the trace.
    pub(super) is_big: Option<bool>,
    /// It is a time of the trace's clock.
    pub(super) is_time: bool,
    /// It is a character.
    pub(super) is_text: bool,
}

/// Types with their names.
pub(super) type Fields = Vec<(Rc<str>, Rc<Type>)>;

/// A type, made of others that are less deep.
#[derive(Debug)]
pub(super) struct Type {
    pub(super) kind: Kind,
    /// In bits.
    pub(super) align: u64,
    pub(super) depth: u32,
}

#[derive(Debug)]
pub(super) enum Kind {
    Integer(Integer),
    /// The bits of a number, 32 or 64, as an integer has them.
    Float(Integer),
    Text,
    Enum(Integer, Names),
    Struct(Fields),
    /// By the name that the field of this name has; in order of their names.
    Variant(Rc<str>, Rc<Fields>),
    Array(Rc<Type>, u64),
    /// As many as the field of this name says.
    Sequence(Rc<Type>, Rc<str>),
}

/// Ranges of an enumeration with their names.
#[derive(Debug)]
pub(super) struct Names {
    ranges: Vec<(i128, i128, Rc<str>)>,
    /// They are in order, and none overlaps another.
    is_ordered: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    /// The name of an enumeration's value, and the value.
    Named(Rc<str>, i128),
}

/// A field that was read.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Rc<str>,
    pub(super) value: Value,
    /// Of a time: how many bits of it.
    pub(super) time_bits: Option<u32>,
}

impl Value {
    pub(super) fn whole(&self) -> Option<i128> {
        match self {
            Value::Unsigned(value) => Some((*value).into()),
            Value::Signed(value) => Some((*value).into()),
            Value::Named(_, value) => Some(*value),
            Value::Float(_) | Value::Text(_) => None,
        }
    }
}

impl Names {
    /// `None` for more ranges than are looked through one by one.
    pub(super) fn new(mut ranges: Vec<(i128, i128, Rc<str>)>) -> Option<Names> {
        let given = ranges.clone();
        ranges.sort_by_key(|(from, ..)| *from);
        if ranges.windows(2).all(|two| two[0].1 < two[1].0) {
            return Some(Names { ranges, is_ordered: true });
        }
        (given.len() <= MOST_OVERLAPPING).then_some(Names { ranges: given, is_ordered: false })
    }

    fn find(&self, value: i128) -> Option<&Rc<str>> {
        let holds = |(from, to, _): &&(i128, i128, Rc<str>)| (*from..=*to).contains(&value);
        let found = if self.is_ordered {
            let after = self.ranges.partition_point(|(from, ..)| *from <= value);
            self.ranges[..after].last().filter(holds)
        } else {
            self.ranges.iter().find(holds)
        };
        found.map(|(.., name)| name)
    }
}

/// The last field of this name; how many were looked through for it is taken from the work.
fn looked_up<'a>(fields: &'a [Field], name: &str, bits: &mut Bits<'_>) -> Option<&'a Value> {
    let back = fields.iter().rev().position(|field| &*field.name == name)?;
    bits.looked_through(back)?;
    Some(&fields[fields.len() - 1 - back].value)
}

/// The last field of this name.
pub(super) fn last<'a>(fields: &'a [Field], name: &str) -> Option<&'a Value> {
    fields.iter().rev().find(|field| &*field.name == name).map(|field| &field.value)
}

/// The last field of this name, as a number without a sign.
pub(super) fn unsigned(fields: &[Field], name: &str) -> Option<u64> {
    last(fields, name)?.whole()?.try_into().ok()
}

impl Integer {
    fn read(self, bits: &mut Bits<'_>) -> Option<u64> {
        bits.align(self.align)?;
        bits.take(self.bits, self.is_big)
    }

    fn value(self, read: u64) -> Value {
        if !self.is_signed {
            return Value::Unsigned(read);
        }
        let unused = 64 - self.bits;
        Value::Signed((read << unused).cast_signed() >> unused)
    }
}

fn deepest(fields: &Fields) -> u32 {
    fields.iter().map(|(_, field)| field.depth).max().unwrap_or_default()
}

impl Type {
    /// `align`: what it is aligned to at least.
    pub(super) fn new(kind: Kind, align: u64) -> Type {
        let align = match &kind {
            Kind::Integer(integer) | Kind::Float(integer) | Kind::Enum(integer, _) => integer.align,
            Kind::Text => 8,
            Kind::Struct(fields) => fields.iter().map(|(_, field)| field.align).fold(align, u64::max),
            Kind::Variant(..) => 1,
            Kind::Array(of, _) | Kind::Sequence(of, _) => of.align,
        };
        let depth = match &kind {
            Kind::Struct(fields) => deepest(fields),
            Kind::Variant(_, fields) => deepest(fields),
            Kind::Array(of, _) | Kind::Sequence(of, _) => of.depth,
            _ => 0,
        };
        Type { kind, align, depth: depth + 1 }
    }

    /// Reads a value; of all that is in it, what has a name goes to `fields`. `None` where the packet ends before, or a field that it needs
    /// is not there.
    pub(super) fn read(&self, name: &Rc<str>, bits: &mut Bits<'_>, fields: &mut Vec<Field>) -> Option<()> {
        bits.step()?;
        if fields.len() >= MOST_VALUES {
            return None;
        }
        let mut keep = |value, time_bits| fields.push(Field { name: Rc::clone(name), value, time_bits });
        match &self.kind {
            Kind::Integer(integer) => {
                let value = integer.value(integer.read(bits)?);
                keep(value, integer.is_time.then_some(integer.bits));
            }
            Kind::Float(integer) => {
                let read = integer.read(bits)?;
                let single = || f32::from_bits(u32::try_from(read).unwrap_or_default()).into();
                keep(Value::Float(if integer.bits == 64 { f64::from_bits(read) } else { single() }), None);
            }
            Kind::Text => {
                bits.align(8)?;
                keep(Value::Text(String::from_utf8_lossy(bits.text()?).into_owned()), None);
            }
            Kind::Enum(integer, names) => {
                let value = integer.value(integer.read(bits)?);
                let whole = value.whole().unwrap_or_default();
                let found = names.find(whole);
                keep(found.map_or(value, |name| Value::Named(Rc::clone(name), whole)), None);
            }
            Kind::Struct(of) => {
                bits.align(self.align)?;
                of.iter().try_for_each(|(name, of)| of.read(name, bits, fields))?;
            }
            Kind::Variant(tag, of) => {
                let Value::Named(chosen, _) = looked_up(fields, tag, bits)? else { return None };
                let at = of.binary_search_by(|(name, _)| name.cmp(chosen)).ok()?;
                let (name, of) = &of[at];
                of.read(name, bits, fields)?;
            }
            Kind::Array(of, count) => of.read_many(name, *count, bits, fields)?,
            Kind::Sequence(of, length) => {
                let count = looked_up(fields, length, bits)?.whole()?.try_into().ok()?;
                bits.align(of.align)?;
                of.read_many(name, count, bits, fields)?;
            }
        }
        Some(())
    }

    /// Reads that many: characters are a text, all else is passed over.
    fn read_many(
        &self,
        name: &Rc<str>,
        count: u64,
        bits: &mut Bits<'_>,
        fields: &mut Vec<Field>,
    ) -> Option<()> {
        let mut text = Vec::new();
        let before = fields.len();
        for _ in 0..count {
            let at = bits.at();
            match &self.kind {
                Kind::Integer(integer) if integer.is_text && integer.bits == 8 => {
                    bits.step()?;
                    text.push(u8::try_from(integer.read(bits)?).unwrap_or_default());
                }
                _ => {
                    self.read(name, bits, fields)?;
                    fields.truncate(before);
                }
            }
            if bits.at() == at {
                // Elements without a size: one is as good as many.
                break;
            }
        }
        if matches!(&self.kind, Kind::Integer(integer) if integer.is_text) {
            let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
            let value = Value::Text(String::from_utf8_lossy(text).into_owned());
            fields.push(Field { name: Rc::clone(name), value, time_bits: None });
        }
        Some(())
    }
}
