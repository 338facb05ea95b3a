//! Reads a scenario file.
//!
//! Input: its text. Output: a [`Scenario`], linked. A section begins at the start of a line, what belongs to it is indented;
//! `#` begins a comment.

use std::ops::RangeInclusive;

use super::image::{Backing, Image, Unlinked};
use super::program::{Disk, Machine, Poke, Ring, Scenario, Share, Step, Thread, Truth};
use super::statement::{Statement, number, picoseconds};
use super::wrong::Wrong;
use crate::assembler::Assembled;
use crate::container::{PT_NAME, action};
use crate::encoder::{Addresses, Rule};

/// Which section the next indented line belongs to.
enum Section {
    None,
    Machine,
    Code(Box<Unlinked>),
    Cpu(u32),
    Truth,
}

/// A poke before the labels are known: line, time, place, instruction.
struct Change {
    line: usize,
    picoseconds: u64,
    place: String,
    instruction: Assembled,
}

/// What has been read so far.
struct Reader {
    scenario: Scenario,
    images: Vec<Unlinked>,
    changes: Vec<Change>,
    section: Section,
}

/// Reads the text of a scenario file; `beside` reads the files that it includes.
///
/// # Errors
/// The first line that is not understood.
pub(super) fn parse(text: &str, beside: &dyn Fn(&str) -> std::io::Result<String>) -> Result<Scenario, Wrong> {
    let mut reader = Reader {
        scenario: Scenario::default(),
        images: Vec::new(),
        changes: Vec::new(),
        section: Section::None,
    };
    for (number, line) in (1..).zip(text.lines()) {
        let read = match line.strip_prefix("include ") {
            Some(name) => reader.include(number, name.trim(), beside),
            None => reader.line(number, line),
        };
        read.map_err(|what| Wrong::new(number, what))?;
    }
    reader.close_section();
    reader.link()
}

impl Reader {
    fn close_section(&mut self) {
        if let Section::Code(image) = std::mem::replace(&mut self.section, Section::None) {
            self.images.push(*image);
        }
    }

    /// Takes the lines of the file `name` as if they stood here; they include nothing themselves.
    fn include(
        &mut self,
        number: usize,
        name: &str,
        beside: &dyn Fn(&str) -> std::io::Result<String>,
    ) -> Result<(), String> {
        let text = beside(name).map_err(|error| format!("{name}: {error}"))?;
        for (line, text) in (1..).zip(text.lines()) {
            self.line(number, text).map_err(|what| format!("{name}:{line}: {what}"))?;
        }
        Ok(())
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let code = line.split('#').next().unwrap_or_default().trim_end();
        match code.trim() {
            "" => Ok(()),
            inner if code.starts_with(' ') => self.inner(number, inner),
            _ => self.head(number, code),
        }
    }

    /// A line that begins a section, or stands alone.
    fn head(&mut self, line: usize, text: &str) -> Result<(), String> {
        self.close_section();
        let words: Vec<&str> = text.split_whitespace().collect();
        self.section = match words.as_slice() {
            ["machine"] => Section::Machine,
            ["truth"] => Section::Truth,
            ["cpu", cpu] => {
                let cpu = number(cpu)? as u32;
                if cpu >= 64 {
                    return Err("at most 64 CPUs".to_owned());
                }
                self.scenario.machine.cpus = self.scenario.machine.cpus.max(cpu + 1);
                Section::Cpu(cpu)
            }
            ["code", backing, address] => parse_code(backing, address, 64, 0)?,
            ["code", backing, address, "bits", "32"] => parse_code(backing, address, 32, 0)?,
            ["code", backing @ ("jitdump" | "copied"), address, "at", time] => {
                parse_code(backing, address, 64, picoseconds(time)?)?
            }
            ["thread", rest @ ..] => {
                self.scenario.threads.push(parse_thread(rest)?);
                Section::None
            }
            ["poke", "at", time, place, ..] => {
                let after = text.split_once(place).map_or("", |(_, after)| after);
                let instruction = Assembled::parse(after)?;
                let place = (*place).to_owned();
                self.changes.push(Change { line, picoseconds: picoseconds(time)?, place, instruction });
                Section::None
            }
            _ => return Err(format!("`{text}` begins no section: machine, code, thread, poke, cpu, truth")),
        };
        Ok(())
    }

    /// An indented line.
    fn inner(&mut self, line: usize, text: &str) -> Result<(), String> {
        match &mut self.section {
            Section::None => Err("an indented line needs a section above it".to_owned()),
            Section::Machine => parse_machine(&mut self.scenario.machine, text),
            Section::Code(image) => {
                image.line(line, text, &mut self.scenario.labels).map_err(|wrong| wrong.what)
            }
            Section::Cpu(cpu) => {
                let statement = Statement::parse(text)?;
                self.scenario.steps.push(Step { line, cpu: *cpu, statement });
                Ok(())
            }
            Section::Truth => {
                self.scenario.truth.push(parse_truth(line, text)?);
                Ok(())
            }
        }
    }

    fn link(mut self) -> Result<Scenario, Wrong> {
        for image in std::mem::take(&mut self.images) {
            let machine = &self.scenario.machine;
            let from =
                if image.picoseconds == 0 { 0 } else { machine.base + machine.ticks(image.picoseconds) };
            let image = Image { from, ..image.link(&self.scenario.labels)? };
            self.scenario.images.push(image);
        }
        self.changes.sort_by_key(|change| change.picoseconds);
        for change in &self.changes {
            let poke = link_change(&self.scenario, change).map_err(|what| Wrong::new(change.line, what))?;
            self.scenario.pokes.push(poke);
        }
        Ok(self.scenario)
    }
}

fn link_change(scenario: &Scenario, change: &Change) -> Result<Poke, String> {
    let address =
        *scenario.labels.get(&change.place).ok_or_else(|| format!("no label `{}`", change.place))?;
    let tsc = scenario.machine.base + scenario.machine.ticks(change.picoseconds);
    let new = change.instruction.link(address, &scenario.labels)?;
    let (mut old, _) = scenario.code_at(address, tsc).ok_or("no code at this place")?;
    old.truncate(new.len());
    Ok(Poke { tsc, address, old, new })
}

/// The kernel's code, a program's at its path, or code made at run time.
fn parse_code(backing: &str, address: &str, bits: u32, since: u64) -> Result<Section, String> {
    let address = number(address)?;
    if address % 4096 != 0 || address < 4096 {
        return Err("code begins at a page: a multiple of 0x1000, not 0".to_owned());
    }
    let backing = match backing {
        "kernel" => Backing::Kernel,
        "jit" => Backing::Jit,
        "jitdump" => Backing::JitDump,
        "copied" => Backing::Copied,
        path => Backing::File(path.to_owned()),
    };
    Ok(Section::Code(Box::new(Unlinked::new(backing, address, bits, since))))
}

fn parse_thread(words: &[&str]) -> Result<Thread, String> {
    const FORM: &str = "thread NAME PID/TID [enters LABEL] [in CGROUP] [named COMM]";
    let [name, ids, rest @ ..] = words else { return Err(FORM.to_owned()) };
    let (entry, rest) = match rest {
        ["enters", entry, rest @ ..] => (Some((*entry).to_owned()), rest),
        _ => (None, rest),
    };
    let (group, rest) = match rest {
        ["in", group, rest @ ..] => ((*group).to_owned(), rest),
        _ => (String::new(), rest),
    };
    let comm = match rest {
        [] => (*name).to_owned(),
        ["named", words @ ..] => words.join(" "),
        _ => return Err(FORM.to_owned()),
    };
    let (pid, tid) = ids.split_once('/').ok_or("a thread has a PID/TID")?;
    let (pid, tid) = (number(pid)? as u32, number(tid)? as u32);
    Ok(Thread { name: (*name).to_owned(), comm, pid, tid, entry, group })
}

fn parse_machine(machine: &mut Machine, text: &str) -> Result<(), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["tsc", mhz] => machine.tsc_hz = megahertz(mhz)?,
        ["crystal", mhz] => machine.crystal_hz = megahertz(mhz)?,
        ["base", ticks] => machine.base = number(ticks)?,
        ["cpus", cpus] => machine.cpus = number(cpus)?.min(64) as u32,
        ["node", node, cpus] => machine.nodes.push((number(node)? as u32, (*cpus).to_owned())),
        ["memory", node, blocks] => machine.memory.push((number(node)? as u32, parse_blocks(blocks)?)),
        ["disk", numbers, name] => machine.disks.push(parse_disk(numbers, name, None)?),
        ["disk", numbers, name, "node", node] => {
            machine.disks.push(parse_disk(numbers, name, Some(number(node)? as u32))?);
        }
        ["trace", "user"] => machine.kernel = false,
        ["returns", "plain"] => machine.settings.return_compression = false,
        ["returns", "compressed"] => machine.settings.return_compression = true,
        ["cycles", "off"] => machine.settings.cycles = false,
        ["mtc", "off"] => machine.settings.mtc_period = None,
        ["mtc", period] => machine.settings.mtc_period = Some(number(period)?.min(15) as u8),
        ["ratios", "off"] => machine.settings.ratios = false,
        ["psb", bytes] => machine.settings.psb_bytes = number(bytes)? as usize,
        ["events", "on"] => machine.settings.event_trace = true,
        ["addresses", "wide"] => machine.settings.addresses = Addresses::Wide,
        ["addresses", "full"] => machine.settings.addresses = Addresses::Full,
        ["tnt", "long"] => machine.settings.long_tnt = true,
        ["snapshot", bytes] => machine.ring = Ring::Snapshots(ring_bytes(bytes)?),
        ["aux-samples", bytes] => machine.ring = Ring::Samples(ring_bytes(bytes)?),
        ["buffers", "per-thread"] => machine.per_thread = true,
        ["starts", "paused"] => machine.actions.push((PT_NAME.to_owned(), action::START_PAUSED)),
        ["pauses", event] => machine.actions.push(((*event).to_owned(), action::PAUSE)),
        ["resumes", event] => machine.actions.push(((*event).to_owned(), action::RESUME)),
        ["breaks", rule] => machine.broken = Some(parse_rule(rule)?),
        ["power", "off"] => machine.power = false,
        ["buffer", bytes] => machine.buffer_bytes = number(bytes)? as usize,
        _ => return Err(format!("`{text}` is no property of a machine")),
    }
    let ratio = machine.tsc_hz / 100_000_000;
    machine.settings.tsc_ratio =
        u8::try_from(ratio).ok().filter(|ratio| *ratio != 0).ok_or("TSC: 100MHz to 25.5GHz")?;
    let numbers = (u32::try_from(machine.tsc_hz / 1_000_000), u32::try_from(machine.crystal_hz / 1_000_000));
    if let (Ok(tsc), Ok(crystal @ 1..)) = numbers {
        (machine.settings.tsc_numerator, machine.settings.tsc_denominator) = (tsc, crystal);
        return Ok(());
    }
    Err("a crystal has at least 1MHz".to_owned())
}

/// `FIRST-LAST`, blocks of memory; a node has at most a TiB here.
fn parse_blocks(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first)?, number(last)?) {
        (first, last) if first <= last && last < 8192 => Ok(first..=last),
        _ => Err(format!("`{text}`: blocks of memory are FIRST-LAST, below 8192")),
    }
}

/// `MAJOR:MINOR` and a name without quotes.
fn parse_disk(numbers: &str, name: &str, node: Option<u32>) -> Result<Disk, String> {
    let (major, minor) = numbers.split_once(':').ok_or("a disk has MAJOR:MINOR")?;
    if name.contains(['"', '\\']) {
        return Err(format!("`{name}`: a name without quotes"));
    }
    Ok(Disk { major: number(major)?, minor: number(minor)?, name: name.to_owned(), node })
}

/// The size of a ring, or of the trace beside a sample: words of 8 bytes, at most what fits into a record.
fn ring_bytes(text: &str) -> Result<usize, String> {
    match number(text)? {
        bytes @ 8..=0xf000 if bytes % 8 == 0 => Ok(bytes as usize),
        _ => Err(format!("`{text}`: a multiple of 8, up to 0xf000")),
    }
}

fn parse_rule(rule: &str) -> Result<Rule, String> {
    match rule {
        "tnt-order" => Ok(Rule::TntOrder),
        "ip-compression" => Ok(Rule::IpCompression),
        "returns-behind-psb" => Ok(Rule::ReturnsBehindPsb),
        _ => Err(format!("`{rule}`: tnt-order, ip-compression, returns-behind-psb")),
    }
}

fn megahertz(text: &str) -> Result<u64, String> {
    let digits = text.strip_suffix("MHz").ok_or_else(|| format!("`{text}`: write 2500MHz"))?;
    Ok(number(digits)?.min(1_000_000) * 1_000_000)
}

/// How well a cause can be known, as the report says it.
const CERTAINTIES: [&str; 4] = ["measured", "decoded", "inferred", "unknown"];

/// `ID[..ID] CAUSE TIME|rest [count N] [CERTAINTY] [says TEXT]`.
fn parse_truth(line: usize, text: &str) -> Result<Truth, String> {
    const FORM: &str = "truth: ID[..ID] CAUSE TIME|rest [count N] [measured|decoded|…] [says TEXT]";
    let words: Vec<&str> = text.split_whitespace().collect();
    let [id, cause, share, rest @ ..] = words.as_slice() else { return Err(FORM.to_owned()) };
    let (count, rest) = match rest {
        ["count", count, rest @ ..] => (Some(number(count)?), rest),
        _ => (None, rest),
    };
    let (certainty, rest) = match rest {
        [word, rest @ ..] if CERTAINTIES.contains(word) => (Some((*word).to_owned()), rest),
        _ => (None, rest),
    };
    let says = match rest {
        [] => None,
        ["says", words @ ..] => Some(words.join(" ")),
        _ => return Err(FORM.to_owned()),
    };
    let share = if *share == "rest" { Share::Rest } else { Share::Picoseconds(picoseconds(share)?) };
    let (first, last) = id.split_once("..").unwrap_or((id, id));
    let intervals = number(first)?..=number(last)?;
    Ok(Truth { line, intervals, cause: (*cause).to_owned(), share, count, certainty, says })
}
