//! Our own interval file as CSV with named columns: a line per interval, or a line per mark.

use std::io::BufRead;

use model::{Counter, Details, Interval, IntervalId, Severity, Stage, Tsc, TscRange};

use super::cells::{self, Cells, Splitter};
use super::draft::Draft;
use super::lines::{Line, Lines};
use super::marks::{self, MarkLine, keep_mark};
use super::pairs;
use crate::findings::Origin;
use crate::pairing::{MOST_COUNTERS, MOST_STAGES};

/// Where the known columns stand.
#[derive(Debug, Default)]
struct Columns {
    known: [Option<usize>; KNOWN.len()],
    stages: Vec<(usize, String)>,
    counters: Vec<(usize, String)>,
    ignored: Vec<String>,
}

/// A column that has a meaning; the discriminant is its place in [`KNOWN`].
#[derive(Clone, Copy)]
enum Column {
    Id,
    Label,
    Key,
    Start,
    Stop,
    Pid,
    Tid,
    StopPid,
    StopTid,
    Publish,
    Mark,
    At,
    Name,
    Value,
}

const KNOWN: [&str; 14] = [
    "id", "label", "key", "start", "stop", "pid", "tid", "stop_pid", "stop_tid", "publish", "mark", "at",
    "name", "value",
];

type Refusal = (&'static str, String);

/// Reads what follows the header line into `draft`.
///
/// The outer error is the operating system's, the inner one describes the error in the line of column names.
pub(super) fn read<R: BufRead>(
    lines: &mut Lines<R>,
    draft: &mut Draft,
) -> std::io::Result<Result<(), String>> {
    let mut splitter = Splitter::new();
    let mut columns = None;
    let mut row = 0;
    loop {
        let line = lines.number() + 1;
        let text = match lines.read()? {
            None if columns.is_none() => {
                return Ok(Err("the line that names the columns is missing".to_owned()));
            }
            None => return Ok(Ok(())),
            Some(Line::TooLong) => {
                draft.refuse(line, "long lines", "longer than 1 MiB: left out".to_owned());
                row += 1;
                continue;
            }
            Some(Line::Text(text)) => text,
        };
        if text.trim_ascii().is_empty() {
            continue;
        }
        if let Some(comment) = text.strip_prefix(b"#") {
            pairs::keep_comment(comment, draft, line);
            continue;
        }
        let Some(cells) = splitter.split(text) else {
            draft.refuse(line, "unbalanced quotes", "unbalanced quotes: the line is left out".to_owned());
            row += 1;
            continue;
        };
        match &columns {
            None => match Columns::of(&cells) {
                Ok(found) => columns = Some(found.noted(draft, line)),
                Err(what) => return Ok(Err(what)),
            },
            Some(columns) => {
                columns
                    .keep_row(&cells, draft, line, row)
                    .unwrap_or_else(|(kind, what)| draft.refuse(line, kind, what));
                row += 1;
            }
        }
    }
}

impl Columns {
    fn of(cells: &Cells<'_>) -> Result<Columns, String> {
        let mut columns = Columns::default();
        for (index, cell) in cells.iter().enumerate() {
            let name = cells::text(cell).into_owned();
            let known = if name == "end" { "stop" } else { name.as_str() };
            if let Some(at) = KNOWN.iter().position(|column| *column == known) {
                columns.known[at] = columns.known[at].or(Some(index));
            } else if let Some(stage) = name.strip_prefix("stage.").filter(|stage| !stage.is_empty()) {
                columns.stages.push((index, stage.to_owned()));
            } else if let Some(counter) = name.strip_prefix("counter.").filter(|counter| !counter.is_empty())
            {
                columns.counters.push((index, counter.to_owned()));
            } else {
                columns.ignored.push(name);
            }
        }
        columns.stages.truncate(MOST_STAGES);
        columns.counters.truncate(MOST_COUNTERS);
        let has = |column: Column| columns.known[column as usize].is_some();
        match (has(Column::Mark), has(Column::Start), has(Column::Stop)) {
            (true, ..) | (_, true, true) => Ok(columns),
            _ => Err("the columns name neither `start` and `stop` (a line per interval) nor `mark` (a line per marker)"
                .to_owned()),
        }
    }

    fn noted(self, draft: &mut Draft, line: u64) -> Columns {
        if !self.ignored.is_empty() {
            let shown: Vec<&str> = self.ignored.iter().take(10).map(String::as_str).collect();
            draft.findings.add(Severity::Note, "unknown columns", Origin::Line(line), || {
                format!("columns without a known meaning are ignored: {}", shown.join(", "))
            });
        }
        self
    }

    fn get<'a>(&self, cells: &Cells<'a>, column: Column) -> &'a [u8] {
        self.known[column as usize].map_or(&[], |index| cells.get(index))
    }

    fn keep_row(&self, cells: &Cells<'_>, draft: &mut Draft, line: u64, row: u64) -> Result<(), Refusal> {
        if self.known[Column::Mark as usize].is_some() {
            return self.keep_mark_row(cells, draft, line);
        }
        let time = |column, name| required_time(self.get(cells, column), name);
        let (start, stop) = (time(Column::Start, "start")?, time(Column::Stop, "stop")?);
        let thread = thread(self.get(cells, Column::Pid), self.get(cells, Column::Tid))?;
        let id = match self.known[Column::Id as usize] {
            None => row,
            Some(_) => required_number(self.get(cells, Column::Id), "id")?,
        };
        let label = self.get(cells, Column::Label);
        let label = draft.context.label(&cells::text(label));
        let range = TscRange { start: Tsc(start), stop: Tsc(stop) };
        let mut interval = Interval::new(IntervalId(id), label, range, thread);
        interval.stop_thread = self.stop_thread(cells)?.or(thread);
        let key = Some(self.get(cells, Column::Key)).filter(|key| !key.is_empty());
        let interval = interval.with(Details {
            key: key.map(|key| cells::text(key).into_owned()),
            publish: optional_time(self.get(cells, Column::Publish), "publish")?,
            stages: self.stages(cells)?,
            counters: self.counters(cells, draft, line),
            ..Details::default()
        });
        if self.known[Column::Id as usize].is_none() || draft.is_new_id(id, line) {
            draft.keep(interval, start, stop, Origin::Line(line));
        }
        Ok(())
    }

    /// The stop thread where it is stated; a `stop_tid` alone is a thread of the same process.
    fn stop_thread(&self, cells: &Cells<'_>) -> Result<Option<model::ThreadId>, Refusal> {
        let (pid, tid) = (self.get(cells, Column::StopPid), self.get(cells, Column::StopTid));
        match (pid.is_empty(), tid.is_empty()) {
            (true, false) => thread(self.get(cells, Column::Pid), tid),
            _ => thread(pid, tid),
        }
    }

    fn stages(&self, cells: &Cells<'_>) -> Result<Vec<Stage>, Refusal> {
        let mut stages = Vec::new();
        for (index, name) in &self.stages {
            if let Some(start) = optional_time(cells.get(*index), name)? {
                stages.push(Stage { name: name.clone(), start });
            }
        }
        stages.sort_by_key(|stage| stage.start);
        Ok(stages)
    }

    fn counters(&self, cells: &Cells<'_>, draft: &mut Draft, line: u64) -> Vec<Counter> {
        let mut counters = Vec::with_capacity(self.counters.len());
        for (index, name) in &self.counters {
            match cells.get(*index) {
                [] => {}
                cell => match cells::decimal(cell) {
                    Some(value) => counters.push(Counter { name: name.clone(), value }),
                    None => draft.refuse_counter(line, name, &cells::text(cell)),
                },
            }
        }
        counters
    }

    fn keep_mark_row(&self, cells: &Cells<'_>, draft: &mut Draft, line: u64) -> Result<(), Refusal> {
        let text = |column| cells::text(self.get(cells, column));
        let (name, value) = (self.get(cells, Column::Name), self.get(cells, Column::Value));
        let id = self.get(cells, Column::Id);
        let mut counters = self.counters(cells, draft, line);
        if !value.is_empty() {
            match cells::decimal(value) {
                Some(value) => counters.push(Counter { name: cells::text(name).into_owned(), value }),
                None => draft.refuse_counter(line, &cells::text(name), &cells::text(value)),
            }
        }
        let mark = MarkLine {
            kind: marks::kind(&text(Column::Mark), &cells::text(name))?,
            label: &text(Column::Label),
            key: &text(Column::Key),
            at: optional_time(self.get(cells, Column::At), "at")?,
            thread: thread(self.get(cells, Column::Pid), self.get(cells, Column::Tid))?,
            id: if id.is_empty() { None } else { Some(required_number(id, "id")?) },
            counters,
        };
        keep_mark(mark, draft, Origin::Line(line))?;
        draft.losses.kept();
        Ok(())
    }
}

fn required_time(cell: &[u8], column: &str) -> Result<u64, Refusal> {
    cells::unsigned(cell).ok_or_else(|| ("wrong times", cells::not_a_time(column, cell)))
}

fn optional_time(cell: &[u8], column: &str) -> Result<Option<Tsc>, Refusal> {
    if cell.is_empty() { Ok(None) } else { required_time(cell, column).map(|time| Some(Tsc(time))) }
}

fn required_number(cell: &[u8], column: &str) -> Result<u64, Refusal> {
    cells::unsigned(cell).ok_or_else(|| ("wrong ids", cells::not_a_time(column, cell)))
}

fn thread(pid: &[u8], tid: &[u8]) -> Result<Option<model::ThreadId>, Refusal> {
    cells::thread(pid, tid).map_err(|what| ("wrong threads", format!("{what}: the line is left out")))
}
