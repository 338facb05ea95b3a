//! Clock pairs: `# clock-pair CLOCK tsc=… ns=… error=…` among the lines of a CSV, or a file of their own (`FILE.clocks`);
//! and the comments that say something else.

use std::io::BufRead;

use model::Tsc;

use super::cells::unsigned;
use super::draft::Draft;
use super::lines::{Line, Lines};
use super::{lost, objects};
use crate::clock::{Clock, ClockPair};
use crate::findings::Origin;

/// Takes a comment line (without its `#`): a pair or lost markers if it says so, else nothing.
pub(super) fn keep_comment(comment: &[u8], draft: &mut Draft, line: u64) {
    let comment = String::from_utf8_lossy(comment);
    let mut words = comment.split_ascii_whitespace();
    match words.next() {
        Some("clock-pair") => {}
        Some("clock") => return keep_name(words.next().unwrap_or_default(), draft, line),
        Some("lost") => return lost::keep(words, draft, line),
        _ => return,
    }
    match pair(words) {
        Ok(pair) => draft.keep_pair(pair, Origin::Line(line)),
        Err(what) => draft.refuse(line, "wrong clock pairs", format!("{what}: the clock pair is left out")),
    }
}

/// `# clock NAME`: which clock the times of the file beside are of.
fn keep_name(name: &str, draft: &mut Draft, line: u64) {
    match name.parse() {
        Ok(Clock::Tsc | Clock::Qpc) => {
            draft.refuse(line, "wrong clocks", format!("{name:?} does not count nanoseconds: left out"));
        }
        Ok(clock) => draft.name_clock(clock),
        Err(error) => draft.refuse(line, "wrong clocks", error.to_string()),
    }
}

/// Reads a file that holds nothing but pairs, in either form.
pub(super) fn read<R: BufRead>(lines: &mut Lines<R>, draft: &mut Draft) -> std::io::Result<()> {
    loop {
        let line = lines.number() + 1;
        match lines.read()? {
            None => return Ok(()),
            Some(Line::TooLong) => draft.refuse(line, "long lines", "longer than 1 MiB: left out".to_owned()),
            Some(Line::Text(text)) => match text.trim_ascii() {
                [] => {}
                [b'#', comment @ ..] => keep_comment(comment, draft, line),
                [b'{', ..] => objects::keep_line(text, draft, line, 0),
                _ => draft.refuse(line, "other lines", "is not a clock pair: left out".to_owned()),
            },
        }
    }
}

fn pair<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<ClockPair, String> {
    let clock: Clock =
        words.next().ok_or("no clock is named")?.parse().map_err(|error| format!("{error}"))?;
    let (mut tsc, mut ns, mut error_ns) = (None, None, 0);
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("{word:?} is not NAME=NUMBER"))?;
        let value = unsigned(value.as_bytes()).ok_or_else(|| format!("{word:?} has no unsigned number"))?;
        match name {
            "tsc" => tsc = Some(value),
            "ns" => ns = Some(value),
            "error" => error_ns = value,
            _ => {}
        }
    }
    let tsc = Tsc(tsc.ok_or("tsc= is missing")?);
    Ok(ClockPair { clock, tsc, ns: ns.ok_or("ns= is missing")?, error_ns })
}
