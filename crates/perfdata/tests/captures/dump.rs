//! Each record's offset, size, type, time, CPU and thread against `perf script -D`, and the order of time.

use tailtrace_perfdata::{PerfData, Record, TimedRecord};

use crate::captures;

/// What `perf script -D` prints of one record.
#[derive(Debug, Default, PartialEq, Eq)]
struct Printed {
    offset: u64,
    time: u64,
    cpu: Option<u32>,
    name: String,
    /// The thread of a sample, or the other thread of a switch.
    thread: Option<(i32, i32)>,
}

impl Printed {
    fn place(&self) -> (u64, u64) {
        (self.time, self.offset)
    }
}

#[test]
fn records_equal_perf_script_dump() {
    for capture in captures::all() {
        let text = captures::dump(&capture);
        let mut printed: Vec<Printed> = text.lines().filter_map(parse_line).collect();
        let perf_data = PerfData::open(&capture).expect("opens");
        let place = capture.display().to_string();

        // perf hands records with a time out in order of time; at the same time, in the order of the file.
        let mut theirs: Vec<_> = printed.iter().map(Printed::place).filter(|&(time, _)| time != 0).collect();
        assert!(
            perf_data.records().filter_map(|it| it.time).is_sorted(),
            "{place}: not in the order of time"
        );
        let ours = all_records(&perf_data).into_iter().filter(|record| record.time.is_some());
        let mut ours: Vec<_> = ours.map(|record| place_of(&perf_data, &record)).collect();
        if capture.join("data.0").exists() {
            // Several files at once: which comes first at the same time is open.
            ours.sort_unstable();
            theirs.sort_unstable();
        } else if !theirs.is_sorted_by_key(|&(time, _)| time) {
            // On a busy machine a record may come a round too late: perf has handed out later ones by then.
            theirs.sort_unstable();
        }
        let differing = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
        assert!(ours == theirs, "{place}: another order than perf's from record {differing:?} on");

        // perf does not print COMPRESSED records, only what comes out of them.
        let mut ours = all_records(&perf_data);
        ours.retain(|it| !matches!(it.record, Record::Compressed { .. }));
        ours.sort_by_key(|record| (place_of(&perf_data, record), name_of(&record.record)));
        printed.sort_by(|a, b| (a.place(), &a.name).cmp(&(b.place(), &b.name)));
        assert_eq!(ours.len(), printed.len(), "{place}");
        for (record, printed) in ours.iter().zip(&printed) {
            assert_eq!(place_of(&perf_data, record), printed.place(), "{place}: {record:?}");
            check(record, printed, &place);
        }
    }
}

/// In the order of time, and with what stands there twice, in the order of the file: perf prints both.
fn all_records(perf_data: &PerfData) -> Vec<TimedRecord<'_>> {
    let mut records: Vec<TimedRecord<'_>> = perf_data.records().collect();
    if !perf_data.repeats().is_empty() {
        records.extend(perf_data.repeats().iter().filter_map(|&offset| perf_data.record_at(offset)));
        records.sort_by_key(|record| place_of(perf_data, record));
    }
    records
}

/// Time and offset: perf gives what came out of a COMPRESSED record that record's offset.
fn place_of(perf_data: &PerfData, record: &TimedRecord<'_>) -> (u64, u64) {
    let position = perf_data.file_position(record.offset).expect("in a file");
    (record.time.map_or(0, |time| time.0), position.offset)
}

fn check(record: &TimedRecord<'_>, printed: &Printed, capture: &str) {
    let place = format!("{capture} at {}: {record:?}", record.offset);
    assert_eq!(name_of(&record.record), printed.name, "{place}");
    // perf prints CPU 0 where a sample has none, and for what it wrote itself.
    if let (Some(cpu), Some(printed)) = (record.cpu, printed.cpu) {
        assert_eq!(cpu.0, printed, "{place}");
    }
    let thread = match &record.record {
        Record::Sample(_) => record.thread,
        Record::SwitchCpuWide { other, .. } => Some(*other),
        _ => None,
    };
    assert_eq!(thread.map(|thread| (thread.pid.0, thread.tid.0)), printed.thread, "{place}");
}

/// The name as perf's dump has it: for these captures, the kernel's.
fn name_of(record: &Record<'_>) -> &'static str {
    match record {
        Record::Sample(_) => "SAMPLE",
        Record::Mmap(_) => "MMAP",
        Record::Mmap2(_) => "MMAP2",
        Record::Comm { exec: false, .. } => "COMM",
        Record::Comm { exec: true, .. } => "COMM exec",
        Record::Fork { .. } => "FORK",
        Record::Exit { .. } => "EXIT",
        Record::SwitchCpuWide { out: false, .. } => "SWITCH_CPU_WIDE IN",
        Record::SwitchCpuWide { out: true, preempt: false, .. } => "SWITCH_CPU_WIDE OUT",
        Record::SwitchCpuWide { out: true, preempt: true, .. } => "SWITCH_CPU_WIDE OUT preempt",
        Record::ItraceStart { .. } => "ITRACE_START",
        Record::Aux { .. } => "AUX",
        Record::AuxtraceInfo { .. } => "AUXTRACE_INFO",
        Record::Auxtrace { .. } => "AUXTRACE",
        Record::TimeConv { .. } => "TIME_CONV",
        Record::IdIndex { .. } => "ID_INDEX",
        Record::ThreadMap { .. } => "THREAD_MAP",
        Record::CpuMap => "CPU_MAP",
        Record::FinishedRound => "FINISHED_ROUND",
        Record::FinishedInit => "FINISHED_INIT",
        Record::EventUpdate => "EVENT_UPDATE",
        Record::Namespaces { .. } => "NAMESPACES",
        Record::Cgroup { .. } => "CGROUP",
        Record::Lost { .. } => "LOST",
        Record::LostSamples { .. } => "LOST_SAMPLES",
        Record::Ksymbol { .. } => "KSYMBOL",
        Record::Bpf { .. } => "BPF_EVENT",
        _ => "?",
    }
}

/// `1 476836683 0x7b40 [0x60]: PERF_RECORD_SAMPLE(IP, 0x1): 117/117: 0xffffffff81a06f88 period: 1 addr: 0`; without
/// a CPU in the samples, without the first number.
fn parse_line(line: &str) -> Option<Printed> {
    let (head, tail) = line.split_once("]: PERF_RECORD_")?;
    let mut words: Vec<&str> = head.split_whitespace().collect();
    let _size = words.pop()?;
    // Zero is printed without its 0x.
    let offset = u64::from_str_radix(words.pop()?.trim_start_matches("0x"), 16).ok()?;
    let time = words.pop()?.parse().ok()?;
    let cpu = words.pop().and_then(|cpu| cpu.parse().ok());
    let end =
        tail.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_').unwrap_or(tail.len());
    let mut name = tail[..end].to_owned();
    let rest = tail[end..].split_whitespace().collect::<Vec<_>>();
    let mut thread = None;
    match name.as_str() {
        "COMM" if rest.first() == Some(&"exec:") => name.push_str(" exec"),
        "SWITCH_CPU_WIDE" => {
            name = format!("{name} {}", rest[0]);
            if rest.get(1) == Some(&"preempt") {
                name.push_str(" preempt");
            }
            thread = parse_thread(&rest.concat().split_once("tid:")?.1.replace("tid:", ""));
        }
        "SAMPLE" => thread = rest.get(2).and_then(|thread| parse_thread(thread.trim_end_matches(':'))),
        _ => {}
    }
    Some(Printed { offset, time, cpu, name, thread })
}

/// `117/120`
fn parse_thread(text: &str) -> Option<(i32, i32)> {
    let (pid, tid) = text.split_once('/')?;
    Some((pid.parse().ok()?, tid.parse().ok()?))
}
