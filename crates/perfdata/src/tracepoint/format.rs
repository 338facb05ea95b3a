//! The text of a tracepoint's `format` file: its ID and its fields.
//!
//! Source: `/sys/kernel/tracing/events/*/*/format`, described in `Documentation/trace/events.rst`.

use super::field::{Location, TracepointField};

/// What a tracepoint's payload holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointFormat {
    name: String,
    id: u64,
    fields: Vec<TracepointField>,
    print_format: String,
}

impl TracepointFormat {
    /// Reads a `format` file of the given system (`sched`); `None` where it has no name or no ID.
    pub fn parse(system: &str, text: &[u8]) -> Option<TracepointFormat> {
        let text = String::from_utf8_lossy(text);
        let mut format =
            TracepointFormat { name: String::new(), id: 0, fields: Vec::new(), print_format: String::new() };
        let mut has_id = false;
        for line in text.lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix("name:") {
                format.name = format!("{system}:{}", name.trim());
            } else if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().ok()?;
                has_id = true;
            } else if line.starts_with("field:") {
                format.fields.extend(parse_field(line));
            } else if let Some(print) = line.strip_prefix("print fmt:") {
                print.trim().clone_into(&mut format.print_format);
            }
        }
        (has_id && !format.name.is_empty()).then_some(format)
    }

    /// System and name: `sched:sched_switch`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The ID by which [`crate::Attr::config`] names it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// All fields, the common ones first.
    pub fn fields(&self) -> &[TracepointField] {
        &self.fields
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&TracepointField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// How the kernel prints it: a C `printf` with its arguments.
    pub fn print_format(&self) -> &str {
        &self.print_format
    }
}

/// `field:char prev_comm[16]; offset:8; size:16; signed:0;`, with tabs between the parts.
fn parse_field(line: &str) -> Option<TracepointField> {
    let mut declaration = None;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in line.split(';') {
        let Some((key, value)) = part.trim().split_once(':') else { continue };
        match key {
            "field" => declaration = Some(value.trim()),
            "offset" => offset = value.trim().parse().ok(),
            "size" => size = value.trim().parse().ok(),
            "signed" => signed = value.trim() == "1",
            _ => {}
        }
    }
    let declaration = parse_declaration(declaration?)?;
    Some(TracepointField {
        name: declaration.name.to_owned(),
        offset: offset?,
        size: size?,
        signed,
        array: declaration.array,
        text: declaration.text,
        location: declaration.location,
    })
}

struct Declaration<'a> {
    name: &'a str,
    array: bool,
    text: bool,
    location: Location,
}

/// `unsigned short common_type`, `char comm[16]`, `__data_loc char[] name`, `const char * msg`.
fn parse_declaration(text: &str) -> Option<Declaration<'_>> {
    let (location, rest) = if let Some(rest) = text.strip_prefix("__data_loc ") {
        (Location::Data, rest)
    } else if let Some(rest) = text.strip_prefix("__rel_loc ") {
        (Location::Relative, rest)
    } else {
        (Location::Fixed, text)
    };
    // An array's brackets stand after the name, or after the type where the length is not fixed.
    let (rest, behind_name) = match rest.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((rest, _length)) => (rest.trim_end(), true),
        None => (rest, false),
    };
    let name_at = rest
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |at| at + rest[at..].chars().next().map_or(1, char::len_utf8));
    let (kind, name) = rest.split_at(name_at);
    let array = behind_name || kind.contains('[') || location != Location::Fixed;
    let element = kind.split('[').next().unwrap_or(kind).trim();
    let is_char = !element.ends_with('*') && element.split_whitespace().any(|word| word == "char");
    let is_number = element.contains("unsigned") || element.contains("signed");
    (!name.is_empty()).then_some(Declaration { name, array, text: array && is_char && !is_number, location })
}
