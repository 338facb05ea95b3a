//! Extends an interval file to a repeated capture.
//!
//! Input: the CSV that `VTune` imports, with TSC times. Output: the same lines once per repetition, shifted; written line by line.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::Repeated;
use crate::error::Error;

/// Copies the interval file `input` (`name,start_tsc.TSC,end_tsc,…`) to `output` for all repetitions of `repeated`.
///
/// # Errors
/// [`Error::File`]; [`Error::Intervals`] if the file's clock is not the TSC or a line is not of that form.
pub fn repeat_intervals(input: &Path, output: &Path, repeated: &Repeated) -> Result<(), Error> {
    let text = std::fs::read_to_string(input).map_err(Error::file(input))?;
    let wrong = |line, what| Error::Intervals { path: input.to_owned(), line, what };
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    if head.split(',').nth(1).map(str::trim) != Some("start_tsc.TSC") {
        return Err(wrong(
            1,
            "only VTune's form with the clock TSC (name,start_tsc.TSC,end_tsc,…) can be repeated",
        ));
    }
    let mut rows = Vec::new();
    for (number, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mut fields = line.splitn(4, ',');
        let (name, start, stop) = (fields.next(), fields.next(), fields.next());
        let ticks = |field: Option<&str>| field.and_then(|field| field.trim().parse::<u64>().ok());
        let (Some(name), Some(start), Some(stop)) = (name, ticks(start), ticks(stop)) else {
            return Err(wrong(number + 2, "a line needs a name and two times in ticks"));
        };
        rows.push((name, start, stop, fields.next()));
    }
    let mut out = BufWriter::new(File::create(output).map_err(Error::file(output))?);
    writeln!(out, "{head}").map_err(Error::file(output))?;
    for turn in 0..repeated.times {
        let ticks = turn * repeated.period_ticks;
        for (name, start, stop, rest) in &rows {
            write!(out, "{name},{},{}", start + ticks, stop + ticks).map_err(Error::file(output))?;
            let rest = rest.map(|rest| format!(",{rest}")).unwrap_or_default();
            writeln!(out, "{rest}").map_err(Error::file(output))?;
        }
    }
    out.flush().map_err(Error::file(output))
}
