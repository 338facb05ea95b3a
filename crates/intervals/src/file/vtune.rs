//! `VTune`'s import CSV, as it stands: `name,start_tsc.CLOCK,end_tsc,pid,tid`.
//!
//! The suffix of `start_tsc` names the clock. Rows with pid and tid are tasks, rows without are frames. The id of a row
//! is its number among the data rows, from 0, whether or not the others could be used.

use std::io::BufRead;

use model::{Counter, Interval, IntervalId, Tsc, TscRange};

use super::cells::{self, Cells, Splitter};
use super::draft::Draft;
use super::lines::{Line, Lines};
use super::utc;
use crate::clock::Clock;
use crate::findings::Origin;

/// Where the known columns stand.
pub(super) struct Columns {
    name: usize,
    start: usize,
    end: usize,
    pid: Option<usize>,
    tid: Option<usize>,
    counters: Vec<(usize, String)>,
    /// The clock's name, as the header spells it.
    pub(super) clock: String,
}

/// The columns of a header line, or what is wrong with it.
pub(super) fn columns(header: &[u8]) -> Result<Columns, String> {
    let mut splitter = Splitter::new();
    let cells = splitter.split(header).ok_or("the header's quotes are unbalanced")?;
    let names: Vec<String> = cells.iter().map(|cell| cells::text(cell).into_owned()).collect();
    let find = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    let missing =
        |column: &str| format!("column {column} is missing; expected `name,start_tsc.CLOCK,end_tsc,pid,tid`");
    let is_start = |name: &String| name.to_ascii_lowercase().starts_with("start_tsc");
    let start = names.iter().position(is_start).ok_or_else(|| missing("start_tsc.CLOCK"))?;
    let clock = names[start].get("start_tsc.".len()..).filter(|clock| !clock.is_empty()).ok_or(
        "`start_tsc` names no clock: write start_tsc.TSC, start_tsc.CLOCK_MONOTONIC_RAW or start_tsc.UTC",
    )?;
    let mut columns = Columns {
        name: find("name").ok_or_else(|| missing("name"))?,
        start,
        end: find("end_tsc").ok_or_else(|| missing("end_tsc"))?,
        pid: find("pid"),
        tid: find("tid"),
        counters: Vec::new(),
        clock: clock.to_owned(),
    };
    let known = [Some(columns.name), Some(start), Some(columns.end), columns.pid, columns.tid];
    let others =
        names.iter().enumerate().filter(|(index, name)| !known.contains(&Some(*index)) && !name.is_empty());
    columns.counters = others.map(|(index, name)| (index, name.clone())).collect();
    Ok(columns)
}

/// Reads the data rows into `draft`.
pub(super) fn read<R: BufRead>(
    lines: &mut Lines<R>,
    columns: &Columns,
    draft: &mut Draft,
) -> std::io::Result<()> {
    let mut splitter = Splitter::new();
    let mut id = 0;
    loop {
        let line = lines.number() + 1;
        match lines.read()? {
            None => return Ok(()),
            Some(Line::Text(text)) if text.trim_ascii().is_empty() => continue,
            Some(Line::TooLong) => draft.refuse(line, "long lines", "longer than 1 MiB: left out".to_owned()),
            Some(Line::Text(text)) => match splitter.split(text) {
                None => draft.refuse(
                    line,
                    "unbalanced quotes",
                    "unbalanced quotes: the line is left out".to_owned(),
                ),
                Some(cells) => match row(&cells, columns, draft, IntervalId(id)) {
                    Ok(interval) => keep(draft, interval, line),
                    Err((kind, what)) => draft.refuse(line, kind, what),
                },
            },
        }
        id += 1;
    }
}

fn keep(draft: &mut Draft, (interval, start, stop): (Interval, u64, u64), line: u64) {
    draft.keep(interval, start, stop, Origin::Line(line));
}

type Refusal = (&'static str, String);

fn row(
    cells: &Cells<'_>,
    columns: &Columns,
    draft: &mut Draft,
    id: IntervalId,
) -> Result<(Interval, u64, u64), Refusal> {
    let start = time(cells.get(columns.start), draft.clock, "start_tsc")?;
    let stop = time(cells.get(columns.end), draft.clock, "end_tsc")?;
    let cell = |column: Option<usize>| column.map_or(&[][..], |column| cells.get(column));
    let thread = cells::thread(cell(columns.pid), cell(columns.tid))
        .map_err(|what| ("wrong threads", format!("{what}: the line is left out")))?;
    let name = draft.context.exact_label(&cells::text(cells.get(columns.name)));
    let range = TscRange { start: Tsc(start), stop: Tsc(stop) };
    let mut interval = Interval::new(id, name, range, thread);
    for (index, name) in &columns.counters {
        if let Some(value) = cells::decimal(cells.get(*index)) {
            interval.counters.push(Counter { name: name.clone(), value });
        }
    }
    Ok((interval, start, stop))
}

/// A time; for UTC also as a date.
fn time(cell: &[u8], clock: Clock, column: &str) -> Result<u64, Refusal> {
    let time = cells::unsigned(cell).or_else(|| utc::nanoseconds(cell).filter(|_| clock == Clock::Realtime));
    time.ok_or_else(|| ("wrong times", cells::not_a_time(column, cell)))
}
