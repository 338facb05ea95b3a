//! Samples and tracepoint fields against what `perf script` prints of them; thread names too.

use model::{Cpu, PerfTime, Tid};
use tailtrace_perfdata::{FieldValue, PerfData, Record, Sample, TimedRecord, sample_type};

use crate::captures;

/// A line of `perf script`.
#[derive(Debug)]
struct Printed<'a> {
    comm: &'a str,
    tid: i32,
    cpu: Option<u32>,
    time: &'a str,
    event: &'a str,
    fields: &'a str,
}

impl Printed<'_> {
    fn nanoseconds(&self) -> u64 {
        self.time.replace('.', "").parse().expect("seconds with nine decimals")
    }
}

#[test]
fn samples_equal_perf_script() {
    for capture in captures::all() {
        let fields = "comm,tid,cpu,time,event,trace";
        let text = captures::perf(&["script", "--no-itrace", "--ns", "-F", fields], &capture);
        let perf_data = PerfData::open(&capture).expect("opens");
        if perf_data.attrs().iter().any(|attr| attr.samples(sample_type::CALLCHAIN)) {
            // Printed over several lines.
            continue;
        }
        let place = capture.display();
        // perf prints twice what stands there twice.
        let repeats = perf_data.repeats().iter().filter_map(|&offset| perf_data.record_at(offset));
        let mut samples: Vec<TimedRecord<'_>> = perf_data.records().chain(repeats).collect();
        samples.retain(|record| matches!(record.record, Record::Sample(_)));
        samples.sort_by_key(|record| record.time);
        let mut printed: Vec<Printed<'_>> = text.lines().filter_map(parse_line).collect();
        // On a busy machine a record may come a round too late: perf has handed out later ones by then.
        printed.sort_by_key(Printed::nanoseconds);
        assert_eq!(samples.len(), printed.len(), "{place}");
        let mut compared_fields = 0;
        for (record, printed) in samples.iter().zip(&printed) {
            let Record::Sample(sample) = &record.record else { unreachable!() };
            let time = record.time.expect("samples have a time");
            assert_eq!(time.to_string(), printed.time, "{place}: {printed:?}");
            assert_eq!(record.thread.map(|thread| thread.tid.0), Some(printed.tid), "{place}: {printed:?}");
            assert_eq!(record.cpu, printed.cpu.map(Cpu), "{place}: {printed:?}");
            assert_eq!(sample.event_name(), Some(printed.event), "{place}: {printed:?}");
            check_comm(&perf_data, time, printed);
            compared_fields += check_fields(sample, printed);
        }
        // Six fields of a sched_switch are printed as they are, prev_state is not.
        let switches = printed.iter().filter(|printed| printed.event == "sched:sched_switch").count();
        assert!(compared_fields >= 6 * switches, "{place}: only {compared_fields} fields compared");
    }
}

fn check_comm(perf_data: &PerfData, time: PerfTime, printed: &Printed<'_>) {
    if printed.tid < 0 {
        // The thread had ended, and its number with it.
        return;
    }
    let ours = perf_data.comm_at(Tid(printed.tid), time);
    assert_eq!(ours, Some(printed.comm), "{printed:?}");
}

/// Compares each `name=value` whose name is a field; returns how many.
fn check_fields(sample: &Sample<'_>, printed: &Printed<'_>) -> usize {
    let mut compared = 0;
    for (name, value) in named_values(printed.fields) {
        // perf prints the state's letters.
        let Some(field) = sample.field(name).filter(|_| name != "prev_state") else { continue };
        let is_number = value.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        match field {
            FieldValue::Text(text) => {
                assert_eq!(String::from_utf8_lossy(text), value, "{name} in {printed:?}");
            }
            FieldValue::Unsigned(number) if is_number => {
                assert_eq!(number, parse_number(value), "{name} in {printed:?}");
            }
            FieldValue::Signed(number) if value.starts_with('-') => {
                assert_eq!(number.to_string(), value, "{name} in {printed:?}");
            }
            FieldValue::Signed(number) if is_number => {
                assert_eq!(u64::try_from(number), Ok(parse_number(value)), "{name} in {printed:?}");
            }
            // perf prints some numbers by name: kernel addresses, the result of an interrupt.
            FieldValue::Unsigned(_) | FieldValue::Signed(_) | FieldValue::Bytes(_) => continue,
        }
        compared += 1;
    }
    compared
}

/// `prev_comm=a b prev_pid=1 ==> next_comm=c` and `vec=7 [action=SCHED]`: a value, which may hold blanks, ends where
/// the next name begins.
fn named_values(fields: &str) -> Vec<(&str, &str)> {
    let equals: Vec<usize> = fields.match_indices('=').map(|(at, _)| at).collect();
    let mut values = Vec::new();
    for (index, &at) in equals.iter().enumerate() {
        let name = fields[..at].rsplit([' ', '[']).next().unwrap_or_default();
        let next = equals.get(index + 1).copied().unwrap_or(fields.len());
        let end = if next == fields.len() { next } else { fields[..next].rfind(' ').unwrap_or(next) };
        let value = fields.get(at + 1..end).unwrap_or_default();
        let value = value.split(" [").next().unwrap_or_default();
        values.push((name, value.trim().trim_end_matches("==>").trim()));
    }
    values
}

/// Hexadecimal with 0x, decimal without, leading zeros allowed.
fn parse_number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).expect("hexadecimal"),
        None => text.parse().unwrap_or_else(|_| panic!("{text:?} is no number")),
    }
}

/// `     migration/0    16 [000]     0.476107023:     sched:sched_switch: prev_comm=migration/0 prev_pid=16`
fn parse_line(line: &str) -> Option<Printed<'_>> {
    let (head, tail) = line.split_once(']')?;
    let (who, cpu) = head.rsplit_once('[')?;
    let (comm, tid) = who.trim().rsplit_once(' ')?;
    let (time, rest) = tail.trim_start().split_once(": ")?;
    let (event, fields) =
        rest.trim_start().split_once(": ").unwrap_or((rest.trim().trim_end_matches(':'), ""));
    // A CPU that was not recorded is printed as -1.
    let cpu = cpu.parse().ok();
    Some(Printed { comm: comm.trim(), tid: tid.parse().ok()?, cpu, time, event, fields: fields.trim() })
}
