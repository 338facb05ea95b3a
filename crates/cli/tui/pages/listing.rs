//! One block as people read code: the instructions of its function around it, its source lines, its PT packets.
//!
//! Input: a block of a flow and the capture. Output: a [`BlockListing`], bounded whatever the files hold: source files are
//! read only where they are plain files of a sane size.

use std::collections::BTreeSet;

use analysis::Capture;
use analysis::hot_code::SourcePlaces;
use attribution::Functions;
use model::{Pid, ThreadId, Tsc};
use pt::{Block, Packet, PtStream, StreamPacket};
use symbols::Frame;

use super::flow::BlockUse;

/// Instructions that are disassembled from a function's start on.
const MOST_INSTRUCTIONS: usize = 4096;
/// Source lines shown before and after the block's.
const SOURCE_AROUND: usize = 40;
/// Packets shown before the block's own and after them.
const PACKETS_BEFORE: usize = 64;
const PACKETS_BEHIND: usize = 16;
/// How far back a sync point is looked for; PSBs come every few KiB.
const LOOK_BACK: u64 = 1 << 20;

/// A block, ready to be read.
#[derive(Clone, Debug)]
pub(crate) struct BlockListing {
    /// The function and the file it lies in.
    pub(crate) function: String,
    /// The function's code.
    pub(crate) code: Vec<CodeLine>,
    /// The block's place in the source, innermost function first: `parse (parse.c:88)`.
    pub(crate) frames: Vec<String>,
    /// The source around it; why there is none, where there is none.
    pub(crate) source: Result<Vec<SourceLine>, String>,
    /// The trace that says that it ran.
    pub(crate) packets: Vec<PacketLine>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodeLine {
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) text: String,
    /// Whether the block executed it.
    pub(crate) is_executed: bool,
    /// `file.c:12` where that changes.
    pub(crate) line: Option<String>,
}

/// One line of source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceLine {
    pub(crate) number: u32,
    pub(crate) text: String,
    /// Whether the block executed instructions of it.
    pub(crate) is_executed: bool,
}

/// One packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PacketLine {
    /// Its place in the AUX stream.
    pub(crate) offset: u64,
    pub(crate) text: String,
    /// Whether the decoder read it between the block before and this one.
    pub(crate) is_own: bool,
}

/// The listing of `used`, which `thread` executed.
pub(crate) fn of(
    capture: &Capture<'_>,
    places: &SourcePlaces,
    used: &BlockUse,
    thread: ThreadId,
) -> BlockListing {
    let block = &used.block;
    let at = block.time.likely;
    let pid = block.thread.map_or(Pid::KERNEL, |thread| thread.pid);
    let images = capture.images();
    let mut executed = BTreeSet::new();
    pt::instructions(block, images, pid, |address| {
        executed.insert(address);
    });
    let location = images.resolve(pid, block.ip, at);
    let function = match &location.symbol {
        Some(symbol) => format!("{symbol}+{:#x} in {}", location.offset, location.dso),
        None => format!("{:#x} in {}", block.ip, location.dso),
    };
    let frames = images.lines(pid, block.ip, at);
    let source = source(capture, places, &frames, (pid, at), &executed);
    BlockListing {
        function,
        code: code(capture, block, pid, &executed),
        frames: frames.iter().map(describe).collect(),
        source,
        packets: packets(capture, used, thread),
    }
}

fn describe(frame: &Frame) -> String {
    let place = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!(" ({file}:{line})"),
        (Some(file), None) => format!(" ({file})"),
        _ => String::new(),
    };
    format!("{}{place}{}", frame.function, if frame.inlined { ", inlined" } else { "" })
}

/// The block's function from its start, or the code from the block on where that is too far away.
fn code(capture: &Capture<'_>, block: &Block, pid: Pid, executed: &BTreeSet<u64>) -> Vec<CodeLine> {
    let at = block.time.likely;
    let images = capture.images();
    let function = capture.function_at(pid, block.ip, at);
    let end = function.as_ref().map_or(u64::MAX, |function| function.range.end);
    let last = executed.last().copied().unwrap_or(block.end_ip);
    let from = |start: u64| {
        let mut lines = images.disassemble(pid, start, at, MOST_INSTRUCTIONS);
        lines.retain(|line| line.address < end || line.address <= last);
        lines
    };
    let whole = function.map(|function| from(function.start)).unwrap_or_default();
    // Data between instructions may make the walk from the function's start miss the block's first one.
    let fits = whole.iter().any(|line| line.address == block.ip);
    let mut before = None;
    let instructions = if fits { whole } else { from(block.ip) };
    instructions
        .into_iter()
        .map(|instruction| {
            let line = capture.line_at(pid, instruction.address, at);
            let changed = line != before;
            before.clone_from(&line);
            CodeLine {
                is_executed: executed.contains(&instruction.address),
                address: instruction.address,
                bytes: instruction.bytes,
                text: with_target(capture, instruction.text, pid, at),
                line: line.filter(|_| changed).map(|line| line.to_string()),
            }
        })
        .collect()
}

/// A call or jump to an address, with the name of what is there.
fn with_target(capture: &Capture<'_>, text: String, pid: Pid, at: Tsc) -> String {
    let target = text.split_once(' ').filter(|(name, _)| name.starts_with('j') || name.starts_with("call"));
    let address = target.and_then(|(_, operand)| operand.strip_prefix("0x"));
    let Some(address) = address.and_then(|digits| u64::from_str_radix(digits, 16).ok()) else { return text };
    match capture.function_at(pid, address, at) {
        Some(function) => match address.wrapping_sub(function.start) {
            0 => format!("{text} <{}>", function.name),
            offset => format!("{text} <{}+{offset:#x}>", function.name),
        },
        None => text,
    }
}

/// The source around the block's first line.
fn source(
    capture: &Capture<'_>,
    places: &SourcePlaces,
    frames: &[Frame],
    (pid, at): (Pid, Tsc),
    executed: &BTreeSet<u64>,
) -> Result<Vec<SourceLine>, String> {
    let innermost = frames.iter().find_map(|frame| Some((frame.file.clone()?, frame.line?)));
    let (file, line) = innermost.ok_or("the code has no line table here: build with -g")?;
    let first_executed = executed.first().copied().unwrap_or_default();
    let verified = capture.images().has_verified_lines(pid, first_executed, at);
    let text = places
        .lines(&file, verified)
        .ok_or_else(|| format!("{file} is not here: name the directory of the sources with --source"))?;
    let of_block: BTreeSet<u32> = executed
        .iter()
        .filter_map(|&address| {
            let frames = capture.images().lines(pid, address, at);
            frames.into_iter().find(|frame| frame.file.as_ref() == Some(&file))?.line
        })
        .collect();
    let first = (line as usize).saturating_sub(SOURCE_AROUND).max(1);
    let numbered = (1u32..).zip(&text).skip(first - 1).take(2 * SOURCE_AROUND + 1);
    let lines: Vec<SourceLine> = numbered
        .map(|(number, text)| SourceLine {
            number,
            text: text.replace('\t', "    "),
            is_executed: of_block.contains(&number),
        })
        .collect();
    if lines.is_empty() {
        Err(format!("{file} has no line {line}: it is not what was compiled"))
    } else {
        Ok(lines)
    }
}

fn packets(capture: &Capture<'_>, used: &BlockUse, thread: ThreadId) -> Vec<PacketLine> {
    let Some(stream) = capture.stream(used.cpu, thread) else { return Vec::new() };
    let own = used.aux_before..used.block.aux_offset;
    let mut around: std::collections::VecDeque<StreamPacket> = std::collections::VecDeque::new();
    let mut behind = 0;
    let told = from_sync_point(stream, own.start).filter(|packet| packet.packet != Packet::Pad);
    for packet in told {
        around.push_back(packet);
        if packet.position < own.start && around.len() > PACKETS_BEFORE {
            around.pop_front();
        }
        behind += usize::from(packet.position >= own.end);
        if behind >= PACKETS_BEHIND || around.len() > PACKETS_BEFORE + MOST_INSTRUCTIONS {
            break;
        }
    }
    let line = |packet: StreamPacket| PacketLine {
        offset: packet.position,
        text: packet.packet.to_string(),
        is_own: own.contains(&packet.position),
    };
    around.into_iter().map(line).collect()
}

/// The packets from the last sync point at or before `position` on.
fn from_sync_point<'s>(stream: &'s PtStream<'s>, position: u64) -> impl Iterator<Item = StreamPacket> + 's {
    let mut back = 4096;
    loop {
        let start = position.saturating_sub(back);
        let mut packets = stream.packets_between(start, u64::MAX).peekable();
        let found = packets.peek().is_some_and(|first| first.position <= position);
        if found || start == 0 || back >= LOOK_BACK {
            return packets;
        }
        back *= 4;
    }
}

#[cfg(test)]
mod tests;
