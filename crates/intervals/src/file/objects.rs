//! Our own interval file as JSON lines: intervals, marks and clock pairs, one object per line.

use std::collections::BTreeMap;
use std::io::BufRead;

use model::{Counter, Details, Interval, IntervalId, Pid, Stage, ThreadId, Tid, Tsc, TscRange};
use serde::Deserialize;

use super::cells::{self, unsigned};
use super::draft::Draft;
use super::lines::{Line, Lines};
use super::marks::{self, MarkLine, keep_mark};
use crate::clock::ClockPair;
use crate::findings::Origin;
use crate::pairing::{MOST_COUNTERS, MOST_STAGES};

/// The first line.
#[derive(Deserialize)]
pub(super) struct Header {
    #[serde(rename = "tailtrace-intervals")]
    pub(super) version: u64,
    pub(super) clock: Option<String>,
}

/// An unsigned number, or text (which may hold one).
#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

/// Any line. What is not known is ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    label: String,
    id: Option<NumberOrText>,
    start: Option<NumberOrText>,
    #[serde(alias = "end")]
    stop: Option<NumberOrText>,
    mark: Option<String>,
    at: Option<NumberOrText>,
    key: Option<NumberOrText>,
    pid: Option<i32>,
    tid: Option<i32>,
    stop_pid: Option<i32>,
    stop_tid: Option<i32>,
    publish: Option<NumberOrText>,
    name: String,
    value: Option<serde_json::Number>,
    stages: BTreeMap<String, NumberOrText>,
    counters: BTreeMap<String, serde_json::Value>,
    #[serde(rename = "clock-pair")]
    clock_pair: Option<Pair>,
    thread: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Pair {
    clock: String,
    tsc: NumberOrText,
    ns: NumberOrText,
    #[serde(default)]
    error: u64,
}

type Refusal = (&'static str, String);

/// Reads what follows the header line into `draft`.
pub(super) fn read<R: BufRead>(lines: &mut Lines<R>, draft: &mut Draft) -> std::io::Result<()> {
    let mut row = 0;
    loop {
        let line = lines.number() + 1;
        match lines.read()? {
            None => return Ok(()),
            Some(Line::TooLong) => draft.refuse(line, "long lines", "longer than 1 MiB: left out".to_owned()),
            Some(Line::Text(text)) if text.trim_ascii().is_empty() => continue,
            Some(Line::Text(text)) => keep_line(text, draft, line, row),
        }
        row += 1;
    }
}

/// Takes one line; an interval without id gets `row`.
pub(super) fn keep_line(text: &[u8], draft: &mut Draft, line: u64, row: u64) {
    let kept = serde_json::from_slice::<Object>(text)
        .map_err(|error| ("wrong JSON", format!("{error}: the line is left out")))
        .and_then(|object| object.keep(draft, line, row));
    if let Err((kind, what)) = kept {
        draft.refuse(line, kind, what);
    }
}

impl Object {
    fn keep(self, draft: &mut Draft, line: u64, row: u64) -> Result<(), Refusal> {
        match self {
            Object { clock_pair: Some(pair), .. } => {
                draft.keep_pair(pair.read()?, Origin::Line(line));
                Ok(())
            }
            Object { mark: Some(_), .. } => self.keep_mark(draft, line),
            Object { start: Some(_), .. } | Object { stop: Some(_), .. } => {
                self.keep_interval(draft, line, row)
            }
            Object { thread: Some(_), .. } => Ok(()),
            _ => Err((
                "unknown objects",
                "neither start and stop, nor mark, nor clock-pair: left out".to_owned(),
            )),
        }
    }

    fn keep_mark(mut self, draft: &mut Draft, line: u64) -> Result<(), Refusal> {
        let mut counters = counters(std::mem::take(&mut self.counters), draft, line);
        if let Some(value) = self.value.as_ref().and_then(cells::json_number) {
            counters.push(Counter { name: self.name.clone(), value });
        }
        let mark = MarkLine {
            kind: marks::kind(self.mark.as_deref().unwrap_or_default(), &self.name)?,
            label: &self.label,
            key: &self.key.map(NumberOrText::into_text).unwrap_or_default(),
            at: optional_time(self.at, "at")?,
            thread: thread(self.pid, self.tid)?,
            id: self.id.map(|id| id.number("id")).transpose()?,
            counters,
        };
        keep_mark(mark, draft, Origin::Line(line))?;
        draft.losses.kept();
        Ok(())
    }

    fn keep_interval(self, draft: &mut Draft, line: u64, row: u64) -> Result<(), Refusal> {
        let required = |time: Option<NumberOrText>, name| {
            time.ok_or_else(|| ("wrong times", format!("{name} is missing: the line is left out")))?
                .number(name)
        };
        let (start, stop) = (required(self.start, "start")?, required(self.stop, "stop")?);
        let stated = self.id.map(|id| id.number("id")).transpose()?;
        let label = draft.context.label(&self.label);
        let start_thread = thread(self.pid, self.tid)?;
        let range = TscRange { start: Tsc(start), stop: Tsc(stop) };
        let mut interval = Interval::new(IntervalId(stated.unwrap_or(row)), label, range, start_thread);
        let mut details = Details::default();
        if let Some(tid) = self.stop_tid {
            interval.stop_thread = thread(self.stop_pid.or(self.pid), Some(tid))?;
        }
        details.key = self.key.map(NumberOrText::into_text);
        details.publish = optional_time(self.publish, "publish")?;
        for (name, start) in self.stages.into_iter().take(MOST_STAGES) {
            let start = Tsc(start.number(&name)?);
            details.stages.push(Stage { name, start });
        }
        details.stages.sort_by_key(|stage| stage.start);
        details.counters = counters(self.counters, draft, line);
        let interval = interval.with(details);
        if stated.is_none_or(|id| draft.is_new_id(id, line)) {
            draft.keep(interval, start, stop, Origin::Line(line));
        }
        Ok(())
    }
}

impl NumberOrText {
    fn number(self, name: &str) -> Result<u64, Refusal> {
        match self {
            NumberOrText::Number(number) => Ok(number),
            NumberOrText::Text(text) => unsigned(text.trim().as_bytes())
                .ok_or_else(|| ("wrong times", cells::not_a_time(name, text.as_bytes()))),
        }
    }

    fn into_text(self) -> String {
        match self {
            NumberOrText::Number(number) => number.to_string(),
            NumberOrText::Text(text) => text,
        }
    }
}

impl Pair {
    fn read(self) -> Result<ClockPair, Refusal> {
        let clock = self.clock.parse().map_err(|error| ("wrong clock pairs", format!("{error}")))?;
        Ok(ClockPair {
            clock,
            tsc: Tsc(self.tsc.number("tsc")?),
            ns: self.ns.number("ns")?,
            error_ns: self.error,
        })
    }
}

fn optional_time(time: Option<NumberOrText>, name: &str) -> Result<Option<Tsc>, Refusal> {
    time.map(|time| time.number(name).map(Tsc)).transpose()
}

fn thread(pid: Option<i32>, tid: Option<i32>) -> Result<Option<ThreadId>, Refusal> {
    match (pid, tid) {
        (None, None) => Ok(None),
        (Some(pid @ 0..), Some(tid @ 0..)) => Ok(Some(ThreadId::new(pid, tid))),
        (None, Some(tid @ 0..)) => Ok(Some(ThreadId { pid: Pid::UNKNOWN, tid: Tid(tid) })),
        _ => {
            Err(("wrong threads", "pid and tid are not both thread numbers: the line is left out".to_owned()))
        }
    }
}

fn counters(values: BTreeMap<String, serde_json::Value>, draft: &mut Draft, line: u64) -> Vec<Counter> {
    let mut counters = Vec::with_capacity(values.len().min(MOST_COUNTERS));
    for (name, value) in values.into_iter().take(MOST_COUNTERS) {
        let read = match &value {
            serde_json::Value::String(text) => cells::decimal(text.as_bytes()),
            serde_json::Value::Number(written) => cells::json_number(written),
            _ => None,
        };
        match read {
            Some(value) => counters.push(Counter { name, value }),
            None => draft.refuse_counter(line, &name, &value.to_string()),
        }
    }
    counters
}
