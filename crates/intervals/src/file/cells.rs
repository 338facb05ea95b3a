//! Cells of one CSV line (RFC 4180, but a cell never spans lines), and numbers as the interval files write them.
//!
//! A line is taken for itself so that one unbalanced quote spoils one line, not the rest of the file.

use std::borrow::Cow;

use model::{Number, Pid, ThreadId, Tid};

/// Splits lines into cells, with buffers that are used again.
pub(super) struct Splitter {
    reader: csv_core::Reader,
    unquoted: Vec<u8>,
    ends: Vec<usize>,
}

/// The cells of one line.
pub(super) struct Cells<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
    /// 1 where a comma lies between two cells in `bytes`, 0 where unquoting removed it.
    between: usize,
}

impl Splitter {
    pub(super) fn new() -> Splitter {
        Splitter { reader: csv_core::Reader::new(), unquoted: Vec::new(), ends: Vec::new() }
    }

    /// The cells of `line`; `None` where its quotes are unbalanced.
    pub(super) fn split<'a>(&'a mut self, line: &'a [u8]) -> Option<Cells<'a>> {
        self.ends.clear();
        if memchr::memchr(b'"', line).is_none() {
            self.ends.extend(memchr::memchr_iter(b',', line));
            self.ends.push(line.len());
            return Some(Cells { bytes: line, ends: &self.ends, between: 1 });
        }
        if !memchr::memchr_iter(b'"', line).count().is_multiple_of(2) {
            return None;
        }
        self.unquote(line);
        Some(Cells { bytes: &self.unquoted, ends: &self.ends, between: 0 })
    }

    fn unquote(&mut self, line: &[u8]) {
        self.reader.reset();
        self.unquoted.resize(line.len() + 1, 0);
        self.ends.resize(line.len() + 2, 0);
        let (mut read, mut written, mut ended) = (0, 0, 0);
        loop {
            let (result, took, wrote, cells) = self.reader.read_record(
                &line[read..],
                &mut self.unquoted[written..],
                &mut self.ends[ended..],
            );
            read += took;
            written += wrote;
            ended += cells;
            // An empty input signals the end of the record; any other end means the same for us.
            if !matches!(result, csv_core::ReadRecordResult::InputEmpty) || cells + took + wrote == 0 {
                break;
            }
        }
        self.unquoted.truncate(written);
        self.ends.truncate(ended);
    }
}

impl<'a> Cells<'a> {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Cell `index` without the blanks around it; empty where the line has fewer.
    pub(super) fn get(&self, index: usize) -> &'a [u8] {
        let Some(&end) = self.ends.get(index) else { return &[] };
        let start = match index.checked_sub(1) {
            Some(before) => self.ends[before] + self.between,
            None => 0,
        };
        self.bytes.get(start..end).unwrap_or_default().trim_ascii()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// Text of a cell; what is no UTF-8 is replaced.
pub(super) fn text(cell: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(cell)
}

/// An unsigned 64-bit number, decimal or hexadecimal with `0x`.
pub(super) fn unsigned(cell: &[u8]) -> Option<u64> {
    if let Some(digits) = cell.strip_prefix(b"0x").or_else(|| cell.strip_prefix(b"0X")) {
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
        return u64::from_str_radix(digits, 16).ok();
    }
    if cell.is_empty() {
        return None;
    }
    cell.iter().try_fold(0u64, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// A finite number with an optional sign, fraction and exponent.
pub(super) fn decimal(cell: &[u8]) -> Option<Number> {
    Number::parse(std::str::from_utf8(cell).ok()?)
}

/// A thread of two cells: `Ok(None)` where both are empty, the reason where they are no thread. Without a process the capture's records
/// may name it.
pub(super) fn thread(pid: &[u8], tid: &[u8]) -> Result<Option<ThreadId>, String> {
    if pid.is_empty() && tid.is_empty() {
        return Ok(None);
    }
    let number = |cell: &[u8]| unsigned(cell).and_then(|number| i32::try_from(number).ok());
    match (number(pid), number(tid)) {
        (Some(pid), Some(tid)) => Ok(Some(ThreadId::new(pid, tid))),
        (None, Some(tid)) if pid.is_empty() => Ok(Some(ThreadId { pid: Pid::UNKNOWN, tid: Tid(tid) })),
        _ => Err(format!("pid {:?} and tid {:?} are not both thread numbers", text(pid), text(tid))),
    }
}

/// Why `cell` is no time, for people.
pub(super) fn not_a_time(column: &str, cell: &[u8]) -> String {
    let shown: String = text(cell).chars().take(40).collect();
    let why = if cell.is_empty() {
        "is empty"
    } else if cell.starts_with(b"-") {
        "is negative"
    } else if cell.iter().all(u8::is_ascii_digit) {
        "does not fit in 64 bits"
    } else {
        "is not an unsigned number"
    };
    format!("{column} {shown:?} {why}: the line is left out")
}

/// All digits of a whole number; none where it is not finite.
pub(super) fn json_number(written: &serde_json::Number) -> Option<Number> {
    let whole = written.as_u64().map(Number::from).or_else(|| written.as_i64().map(Number::from));
    whole.or_else(|| written.as_f64().map(Number::from)).filter(|number| number.is_finite())
}
