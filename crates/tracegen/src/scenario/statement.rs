//! One line of a CPU's timeline, and how it is read.

use std::collections::BTreeMap;

use super::data_source::data_source;
use crate::core_event::{COUNTED, CoreEvent};
use crate::packet::Packet;
use crate::tracepoint::Tracepoint;

/// Where a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Before the instruction at this label.
    Before(String),
    /// After it.
    Through(String),
    /// After so many.
    Count(u64),
}

/// What Event Trace reports of an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Vector(u8),
    /// A page fault's address.
    Address(u64),
}

/// One line of a CPU's timeline. Times are in picoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    At(u64),
    Runs(String),
    TraceOn(String),
    TraceOff,
    /// The trace stops for good, by a region that says so.
    TraceStop,
    /// A transaction aborts; control goes to this label.
    Abort(String),
    /// The AUX buffer is full for that long.
    Full {
        duration: u64,
        resume: String,
    },
    Run {
        until: Until,
        branches: Vec<bool>,
        targets: Vec<String>,
        duration: Option<u64>,
    },
    Interrupt {
        label: String,
        event: Option<Event>,
    },
    Switch {
        thread: String,
        preempt: bool,
    },
    /// The kernel returns to this label instead of where it was entered.
    Goes(String),
    Ratio(u8),
    Sleep {
        duration: u64,
        state: u8,
        wake: u8,
    },
    Overflow {
        duration: u64,
        resume: String,
    },
    Gap(u64),
    Smi(u64),
    Rax(u64),
    /// Without an id: the next one that is free.
    Begin {
        label: String,
        id: Option<u64>,
    },
    /// Without an id: the interval begun last.
    End {
        id: Option<u64>,
    },
    /// What the task of an interval does from now on: a marker `run`, `ready` or `await`.
    Task {
        kind: &'static str,
        id: u64,
    },
    /// What stands up to the matching `Done` happens so many times.
    Repeat(u64),
    Done,
    Packet(Vec<Packet>),
    AuxFlags(u64),
    /// perf copies the ring of this CPU, or of the thread on it.
    Snapshot,
    /// A sample with the last bytes of the trace.
    Sample,
    Lost(u64),
    /// PEBS samples the next instruction: how many events it stands for, and the parts of its weight.
    Pebs {
        event: &'static CoreEvent,
        period: u64,
        weight: u64,
    },
    /// The same, and the record goes into the trace: the data's address and the latency of its access, where it has them.
    Traced {
        event: &'static CoreEvent,
        memory: Option<(u64, u64)>,
    },
    /// The group of counters is read; so much more than when it was read last.
    Read(Box<[u64; COUNTED]>),
    /// A sample of a load: the data's address, its physical one, `perf_mem_data_src`.
    Access {
        address: u64,
        physical: u64,
        source: u64,
    },
    /// A sample of a tracepoint, with its fields' values as written.
    Record {
        point: &'static Tracepoint,
        values: BTreeMap<String, String>,
    },
}

impl Statement {
    /// Reads one line.
    pub(super) fn parse(text: &str) -> Result<Statement, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let statement = match words.as_slice() {
            ["at", time] => Statement::At(picoseconds(time)?),
            ["runs", thread] => Statement::Runs((*thread).to_owned()),
            ["trace", "on", label] => Statement::TraceOn((*label).to_owned()),
            ["trace", "off"] => Statement::TraceOff,
            ["trace", "stop"] => Statement::TraceStop,
            ["abort", label] => Statement::Abort((*label).to_owned()),
            ["full", time, "at", label] => {
                Statement::Full { duration: picoseconds(time)?, resume: (*label).to_owned() }
            }
            ["run", rest @ ..] => parse_run(rest)?,
            ["interrupt" | "fault", label] => {
                Statement::Interrupt { label: (*label).to_owned(), event: None }
            }
            ["interrupt", label, "vector", vector] => {
                let vector = number(vector)?.try_into().map_err(|_| "a vector has 8 bits")?;
                Statement::Interrupt { label: (*label).to_owned(), event: Some(Event::Vector(vector)) }
            }
            ["fault", label, "address", address] => {
                let event = Some(Event::Address(number(address)?));
                Statement::Interrupt { label: (*label).to_owned(), event }
            }
            ["switch", thread] => Statement::Switch { thread: (*thread).to_owned(), preempt: false },
            ["switch", thread, "preempt"] => {
                Statement::Switch { thread: (*thread).to_owned(), preempt: true }
            }
            ["goes", label] => Statement::Goes((*label).to_owned()),
            ["ratio", ratio] => {
                Statement::Ratio(number(ratio)?.try_into().map_err(|_| "a ratio has 8 bits")?)
            }
            ["sleep", time, state] => parse_sleep(time, state, "interrupt")?,
            ["sleep", time, state, "wake", by] => parse_sleep(time, state, by)?,
            ["overflow", time, "at", label] => {
                Statement::Overflow { duration: picoseconds(time)?, resume: (*label).to_owned() }
            }
            ["gap", time] => Statement::Gap(picoseconds(time)?),
            ["smi", time] => Statement::Smi(picoseconds(time)?),
            ["rax", value] => Statement::Rax(number(value)?),
            ["begin", label] => Statement::Begin { label: (*label).to_owned(), id: None },
            ["begin", label, id] => Statement::Begin { label: (*label).to_owned(), id: Some(number(id)?) },
            ["end"] => Statement::End { id: None },
            ["end", id] => Statement::End { id: Some(number(id)?) },
            ["task", kind, id] => {
                let known = ["run", "ready", "await"].into_iter().find(|known| known == kind);
                Statement::Task { kind: known.ok_or("a task has run, ready and await")?, id: number(id)? }
            }
            ["repeat", count] => Statement::Repeat(number(count)?),
            ["done"] => Statement::Done,
            ["packet", rest @ ..] => Statement::Packet(parse_packets(rest)?),
            ["aux", "truncated"] => Statement::AuxFlags(1),
            ["aux", "overwrite"] => Statement::AuxFlags(2),
            ["snapshot"] => Statement::Snapshot,
            ["sample"] => Statement::Sample,
            ["access", address, "physical", physical, "from", source] => Statement::Access {
                address: number(address)?,
                physical: number(physical)?,
                source: data_source(source)?,
            },
            ["lost", count] => Statement::Lost(number(count)?),
            ["record", name, values @ ..] => parse_record(name, values)?,
            ["pebs", name, "traced", values @ ..] => parse_traced(name, values)?,
            ["pebs", name, values @ ..] => parse_pebs(name, values)?,
            ["read", counts @ ..] => parse_read(counts)?,
            _ => return Err(format!("`{text}` is no statement of a cpu")),
        };
        Ok(statement)
    }
}

fn parse_run(words: &[&str]) -> Result<Statement, String> {
    let (until, mut rest) = match words {
        ["to", label, rest @ ..] => (Until::Before((*label).to_owned()), rest),
        ["through", label, rest @ ..] => (Until::Through((*label).to_owned()), rest),
        [count, rest @ ..] => (Until::Count(number(count)?), rest),
        [] => return Err("`run` needs `to LABEL`, `through LABEL` or a number of instructions".to_owned()),
    };
    let (mut branches, mut targets, mut duration) = (Vec::new(), Vec::new(), None);
    while let [key, value, after @ ..] = rest {
        match *key {
            "branches" => branches.extend(parse_branches(value)?),
            "targets" => targets.extend(value.split(',').map(str::to_owned)),
            "for" => duration = Some(picoseconds(value)?),
            _ => return Err(format!("`{key}`: `run` knows branches, targets and for")),
        }
        rest = after;
    }
    if rest.is_empty() {
        Ok(Statement::Run { until, branches, targets, duration })
    } else {
        Err(format!("`{}` lacks its value", rest[0]))
    }
}

/// `group:event field=value …`.
fn parse_record(name: &str, words: &[&str]) -> Result<Statement, String> {
    let point = Tracepoint::find(name).ok_or_else(|| format!("`{name}` is no tracepoint known here"))?;
    let mut values = BTreeMap::new();
    for word in words {
        let (field, value) = word.split_once('=').ok_or_else(|| format!("`{word}`: write FIELD=VALUE"))?;
        values.insert(field.to_owned(), value.to_owned());
    }
    Ok(Statement::Record { point, values })
}

/// `FIELD=NUMBER`.
fn parse_field(word: &str) -> Result<(&str, u64), String> {
    let (field, value) = word.split_once('=').ok_or_else(|| format!("`{word}`: write FIELD=NUMBER"))?;
    Ok((field, number(value)?))
}

/// `EVENT [period=N] [memory=N] [instruction=N] [retire=N]`.
fn parse_pebs(name: &str, words: &[&str]) -> Result<Statement, String> {
    let event = CoreEvent::precise(name).ok_or_else(|| format!("`{name}` is no precise event known here"))?;
    let (mut period, mut weight) = (1, 0);
    for word in words {
        let (field, value) = parse_field(word)?;
        // Place and size of each part in the weight, in bits.
        let (at, size) = match field {
            "period" => {
                period = value;
                continue;
            }
            "memory" => (0, 32),
            "instruction" => (32, 16),
            "retire" => (48, 16),
            _ => return Err(format!("`{field}`: pebs knows period, memory, instruction and retire")),
        };
        if value >> size != 0 {
            return Err(format!("`{field}` has {size} bits"));
        }
        weight |= value << at;
    }
    Ok(Statement::Pebs { event, period, weight })
}

/// `EVENT traced [address=N latency=N]`.
fn parse_traced(name: &str, words: &[&str]) -> Result<Statement, String> {
    let event = CoreEvent::precise(name).ok_or_else(|| format!("`{name}` is no precise event known here"))?;
    let fields: Vec<(&str, u64)> = words.iter().map(|word| parse_field(word)).collect::<Result<_, _>>()?;
    let memory = match fields.as_slice() {
        [] => None,
        [("address", address), ("latency", latency)] => Some((*address, *latency)),
        _ => return Err("write address=N latency=N, or neither".to_owned()),
    };
    Ok(Statement::Traced { event, memory })
}

/// `EVENT=N …`.
fn parse_read(words: &[&str]) -> Result<Statement, String> {
    let mut counts = [0; COUNTED];
    for word in words {
        let (event, count) = parse_field(word)?;
        let place = CoreEvent::place_in_group(event);
        counts[place.ok_or_else(|| format!("`{event}` is no event of the group"))?] = count;
    }
    Ok(Statement::Read(Box::new(counts)))
}

/// `T3N` is taken three times, then not.
fn parse_branches(text: &str) -> Result<Vec<bool>, String> {
    let mut branches = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            'T' => true,
            'N' => false,
            _ => {
                return Err(format!(
                    "`{text}`: branches are T (taken) and N (not), each with a count if you like"
                ));
            }
        };
        rest = &rest[1..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let count: u32 =
            if digits == 0 { 1 } else { rest[..digits].parse().map_err(|_| "a count of 32 bits")? };
        branches.extend(std::iter::repeat_n(taken, count.min(1 << 20) as usize));
        rest = &rest[digits..];
    }
    Ok(branches)
}

fn parse_sleep(time: &str, state: &str, by: &str) -> Result<Statement, String> {
    let state = state.strip_prefix('C').and_then(|state| state.parse().ok()).filter(|state| *state < 16);
    let wake = match by {
        "interrupt" => 1,
        "store" => 2,
        "autonomous" => 8,
        _ => return Err(format!("`{by}`: an interrupt, a store or autonomous hardware wakes")),
    };
    let state = state.ok_or("a state is C0 to C15")?;
    Ok(Statement::Sleep { duration: picoseconds(time)?, state, wake })
}

/// Packets that a scenario may set itself: those that do not steer the flow.
fn parse_packets(words: &[&str]) -> Result<Vec<Packet>, String> {
    let packets = match words {
        ["pad"] => vec![Packet::Pad],
        ["vmcs", base] => vec![Packet::Vmcs(number(base)?)],
        ["mnt", payload] => vec![Packet::Mnt(number(payload)?)],
        ["tsx", "begin"] => vec![Packet::ModeTsx { in_tx: true, abort: false }],
        ["tsx", "commit"] => vec![Packet::ModeTsx { in_tx: false, abort: false }],
        ["pebs", id, payload] => {
            let (id, payload) = (number(id)? as u8 & 31, number(payload)?);
            let narrow = false;
            vec![
                Packet::Bbp { kind: 1, narrow },
                Packet::Bip { id, payload, narrow },
                Packet::Bep { fup: false },
            ]
        }
        ["cfe", kind, vector] => {
            let (kind, vector) = (number(kind)? as u8, number(vector)? as u8);
            vec![Packet::Cfe { kind, vector, fup: false }]
        }
        ["evd", kind, payload] => {
            let (kind, payload) = (number(kind)? as u8, number(payload)?);
            vec![Packet::Evd { kind, payload }]
        }
        _ => return Err("packets: pad, vmcs, mnt, tsx begin|commit, pebs ID VALUE, cfe, evd".to_owned()),
    };
    Ok(packets)
}

/// Reads `300ns`, `4us`, `1ms`, with fractions down to a picosecond.
pub(super) fn picoseconds(text: &str) -> Result<u64, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let scale: u64 = match unit {
        "ns" => 1_000,
        "us" => 1_000_000,
        "ms" => 1_000_000_000,
        _ => return Err(format!("`{text}` is no time: write 300ns, 4.5us, 1ms")),
    };
    let wrong = || format!("`{text}` is no time: write 300ns, 4.5us, 1ms");
    let digits = &text[..text.len() - unit.len()];
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let (whole, part) = whole.parse::<u64>().ok().zip(fraction.parse::<u64>().ok()).ok_or_else(wrong)?;
    let power =
        u32::try_from(fraction.len()).ok().and_then(|length| 10u64.checked_pow(length)).ok_or_else(wrong)?;
    let part = u128::from(part) * u128::from(scale) / u128::from(power);
    whole.checked_mul(scale).and_then(|whole| whole.checked_add(part as u64)).ok_or_else(wrong)
}

/// Reads a number, decimal or with `0x`, `_` allowed.
pub(super) fn number(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    let parsed = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is no number"))
}
