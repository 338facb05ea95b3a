//! An event by its name, and what its fields must hold: `raw_syscalls:sys_enter if id == 45 && args & 0x4`.
//!
//! ```text
//! pattern   = event [ "if" condition { "&&" condition } ]
//! condition = field [ "&" number ] [ relation value ]      one of both at least; & alone: any of these bits is set
//! relation  = "==" | "!=" | "<" | ">" | "<=" | ">="        of texts only "==" and "!="
//! value     = number | text
//! number    = [ "-" ] digits | [ "-" ] "0x" hexadecimal digits
//! text      = '"' … '"' | "'" … "'" | word                 without escapes
//! ```
//!
//! A part of the kernel's filter language (Documentation/trace/events.rst, "Event filtering"); without `||`, parentheses and patterns.

mod tokens;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use perfdata::{FieldValue, TracepointFormat};

use crate::error::Error;
use tokens::{Token, Tokens};

/// More conditions than anybody writes.
const MOST_CONDITIONS: usize = 32;

/// An event, and what must hold of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPattern {
    /// Its name, as `perf script` prints it: `probe_app:start`.
    pub name: String,
    conditions: Vec<Condition>,
}

/// What one field must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    field: String,
    /// Only these bits count.
    mask: Option<i128>,
    relation: Relation,
    value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Number(i128),
    Text(String),
}

/// How a field lies to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Unequal,
    Less,
    Greater,
    AtMost,
    AtLeast,
}

impl From<&str> for EventPattern {
    /// All occurrences of the event of this name.
    fn from(name: &str) -> EventPattern {
        EventPattern { name: name.to_owned(), conditions: Vec::new() }
    }
}

impl EventPattern {
    /// The conditions, as the kernel's filters are written; `None` without any. Of masked bits the kernel knows only whether one is set.
    pub fn filter(&self) -> Option<String> {
        let conditions: Vec<String> = self.conditions.iter().map(ToString::to_string).collect();
        (!conditions.is_empty()).then(|| conditions.join(" && "))
    }

    /// Whether a sample with this payload fulfils all conditions. A field that the payload is too short for fulfils none.
    ///
    /// # Errors
    /// [`Error::EventCondition`] where the event has no such field, or one that cannot be compared so.
    pub(super) fn matches(&self, payload: Option<(&TracepointFormat, &[u8])>) -> Result<bool, Error> {
        let mut all = true;
        for condition in &self.conditions {
            let (format, raw) =
                payload.ok_or_else(|| self.error("its samples carry no fields (record it with -R)"))?;
            let field =
                format.field(&condition.field).ok_or_else(|| self.no_field(format, &condition.field))?;
            // Each condition is looked at, so that a wrong one is always an error.
            all &= match field.value(raw) {
                Some(value) => condition.holds(value).map_err(|what| self.error(&what))?,
                None => false,
            };
        }
        Ok(all)
    }

    /// The fields that conditions are about.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().map(|condition| condition.field.as_str())
    }

    fn no_field(&self, format: &TracepointFormat, wanted: &str) -> Error {
        self.error(&format!(
            "its field {wanted} is not there, its fields are: {}",
            super::fields::names(format)
        ))
    }

    fn error(&self, what: &str) -> Error {
        Error::EventCondition { pattern: self.to_string(), what: what.to_owned() }
    }
}

impl Condition {
    fn holds(&self, found: FieldValue<'_>) -> Result<bool, String> {
        let number = match found {
            FieldValue::Unsigned(value) => i128::from(value),
            FieldValue::Signed(value) => i128::from(value),
            FieldValue::Text(bytes) => return self.holds_of_text(bytes),
            FieldValue::Bytes(_) => return Err(format!("{} is an array: it cannot be compared", self.field)),
        };
        match &self.value {
            Value::Number(value) => {
                Ok(self.relation.holds(self.mask.map_or(number, |mask| number & mask).cmp(value)))
            }
            Value::Text(text) => Err(format!("{} is a number, and {text:?} is none", self.field)),
        }
    }

    fn holds_of_text(&self, found: &[u8]) -> Result<bool, String> {
        match (&self.value, self.mask) {
            (Value::Text(text), None) => Ok(self.relation.holds(found.cmp(text.as_bytes()))),
            _ => Err(format!("{} is a text: compare it with == or != \"TEXT\"", self.field)),
        }
    }
}

impl Relation {
    const SIGNS: [(&'static str, Relation); 6] = [
        ("==", Relation::Equal),
        ("!=", Relation::Unequal),
        ("<=", Relation::AtMost),
        (">=", Relation::AtLeast),
        ("<", Relation::Less),
        (">", Relation::Greater),
    ];

    fn holds(self, order: Ordering) -> bool {
        match self {
            Relation::Equal => order.is_eq(),
            Relation::Unequal => order.is_ne(),
            Relation::Less => order.is_lt(),
            Relation::Greater => order.is_gt(),
            Relation::AtMost => order.is_le(),
            Relation::AtLeast => order.is_ge(),
        }
    }
}

impl FromStr for EventPattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<EventPattern, Error> {
        let error = |what: &str| Error::EventCondition {
            pattern: text.chars().take(200).collect(),
            what: what.to_owned(),
        };
        let trimmed = text.trim();
        let (name, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        if name.is_empty() {
            return Err(error("the name of an event is missing"));
        }
        let mut pattern = EventPattern::from(name);
        let rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(pattern);
        }
        let conditions = rest
            .strip_prefix("if")
            .filter(|rest| rest.starts_with(char::is_whitespace))
            .ok_or_else(|| error("after the event's name only `if FIELD == VALUE` may follow"))?;
        pattern.conditions = conditions_of(Tokens::of(conditions)).map_err(|what| error(&what))?;
        Ok(pattern)
    }
}

fn conditions_of(mut tokens: Tokens<'_>) -> Result<Vec<Condition>, String> {
    let mut conditions = vec![condition(&mut tokens)?];
    loop {
        match tokens.next()? {
            None => return Ok(conditions),
            Some(Token::Sign("&&")) if conditions.len() < MOST_CONDITIONS => {
                conditions.push(condition(&mut tokens)?);
            }
            Some(Token::Sign("&&")) => {
                return Err(format!("there are more than {MOST_CONDITIONS} conditions"));
            }
            Some(other) => return Err(format!("{other} where only && may follow")),
        }
    }
}

fn condition(tokens: &mut Tokens<'_>) -> Result<Condition, String> {
    let field = match tokens.next()? {
        Some(Token::Word(field)) => field.to_owned(),
        Some(other) => return Err(format!("{other} where a field's name should be")),
        None => return Err("a condition is missing".to_owned()),
    };
    let mask = match tokens.next_if(|token| *token == Token::Sign("&"))? {
        Some(_) => match tokens.next()? {
            Some(Token::Number(mask)) => Some(mask),
            _ => return Err(format!("{field} & needs a number after it")),
        },
        None => None,
    };
    let relation = match tokens.next_if(|token| relation_of(token).is_some())? {
        Some(token) => relation_of(&token).unwrap_or(Relation::Equal),
        None if mask.is_some() => {
            return Ok(Condition { field, mask, relation: Relation::Unequal, value: Value::Number(0) });
        }
        None => return Err(format!("{field} is compared with nothing: write {field} == VALUE")),
    };
    let value = match tokens.next()? {
        Some(Token::Number(value)) => Value::Number(value),
        Some(Token::Word(text) | Token::Quoted(text)) => Value::Text(text.to_owned()),
        _ => return Err(format!("{field} is compared with nothing: a number or \"TEXT\" is missing")),
    };
    if matches!(value, Value::Text(_)) && !matches!(relation, Relation::Equal | Relation::Unequal) {
        return Err(format!("{field}: texts are compared with == or != alone"));
    }
    Ok(Condition { field, mask, relation, value })
}

fn relation_of(token: &Token<'_>) -> Option<Relation> {
    let Token::Sign(sign) = token else { return None };
    Relation::SIGNS.iter().find(|(known, _)| known == sign).map(|&(_, relation)| relation)
}

impl fmt::Display for EventPattern {
    /// As it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (at, condition) in self.conditions.iter().enumerate() {
            write!(f, " {} {condition}", if at == 0 { "if" } else { "&&" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        if let Some(mask) = self.mask {
            write!(f, " & {mask}")?;
        }
        let sign = Relation::SIGNS.iter().find(|(_, relation)| *relation == self.relation);
        write!(f, " {} ", sign.map_or("==", |(sign, _)| sign))?;
        match &self.value {
            Value::Number(value) => value.fmt(f),
            // One of both marks is not in it, for it was read between two of the other, or without any.
            Value::Text(text) if text.contains('"') => write!(f, "'{text}'"),
            Value::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

#[cfg(test)]
mod tests;
