//! Random programs, whose execution is known by construction, through both engines: each instruction and event in order.
//!
//! The native engine is exact in all. libipt's is but for the classes of `docs/engines.md` that are counted here. The calls of a function are found
//! alike by all blocks and by those around them.

mod calls;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{CodeBytes, CodeEpoch, CodeSection, FileOffset, Pid, Tsc, TscRange};
use pt::{
    Decoder, Engine as _, EngineKind, EventKind, Flow, FlowItem, FlowSink, Grain, Limits, Piece, PtConfig,
    PtStream, Window, decode_window,
};
use tracegen::random::{Code, Happened, Program, program};

const ALL: TscRange = TscRange { start: Tsc(0), stop: Tsc(u64::MAX) };

/// The code of a program, some of it in files.
struct Memory<'p> {
    code: &'p [Code],
    epoch: CodeEpoch,
}

impl CodeBytes for Memory<'_> {
    fn epoch(&self, _: Pid, _: Tsc) -> CodeEpoch {
        self.epoch.clone()
    }

    fn read(&self, _: Pid, address: u64, _: Tsc, into: &mut [u8]) -> usize {
        let found = self.code.iter().find_map(|code| {
            let from = usize::try_from(address.checked_sub(code.address)?).ok()?;
            code.bytes.get(from..)
        });
        let rest = found.unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        count
    }
}

/// Where the code of a program lies in files: nowhere, whole, or in pieces with holes between, cut anywhere.
fn sections(seed: u64, program: &Program, file: &Arc<PathBuf>) -> Vec<CodeSection> {
    let mut sections = Vec::new();
    let mut file_offset = 0;
    let mut chance = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |limit: u64| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        chance % limit
    };
    let [whole, in_pieces] = [1, 2].map(|kind| seed % 3 == kind);
    for code in program.code.iter().filter(|_| whole || in_pieces) {
        let length = code.bytes.len() as u64;
        let mut at = 0;
        while at < length {
            let end = if whole { length } else { (at + 1 + below(200)).min(length) };
            if whole || below(4) > 0 {
                let range = code.address + at..code.address + end;
                sections.push(CodeSection { range, file: file.clone(), file_offset: file_offset + at });
            }
            at = end;
        }
        file_offset += length;
    }
    sections
}

fn config(program: &Program) -> PtConfig {
    let settings = &program.settings;
    PtConfig {
        cpu: None,
        mtc_freq: settings.mtc_period.unwrap_or(0),
        nom_freq: settings.tsc_ratio,
        tsc_ctc_ratio: settings.mtc_period.map(|_| (settings.tsc_numerator, settings.tsc_denominator)),
    }
}

/// One thing that happened, its bounds, and for an instruction whether it began a block.
type Found = (Happened, Range<u64>, bool);

/// What a flow says, as the generator would.
fn found(
    flow: &Flow,
    program: &Program,
    memory: &Memory<'_>,
    kind: EngineKind,
) -> Result<Vec<Found>, String> {
    let lengths: BTreeMap<u64, u8> = program.code.iter().flat_map(lengths_of).collect();
    let mut found = Vec::new();
    let mut active = false;
    let mut paging = Some(0);
    for item in &flow.items {
        let bounds = item.time().not_before.0..item.time().not_after.0;
        match item {
            FlowItem::Gap(gap) => return Err(format!("a gap after {} things: {:x?}", found.len(), gap)),
            // It may run on over a direct jump to a PTWRITE.
            FlowItem::Block(block) if kind == EngineKind::Libipt => {
                let mut begins = true;
                pt::instructions(block, memory, Pid(0), |ip| {
                    found.push((Happened::Ran(ip), bounds.clone(), std::mem::take(&mut begins)));
                });
            }
            FlowItem::Block(block) => {
                let mut ip = block.ip;
                for number in 0..block.instructions {
                    found.push((Happened::Ran(ip), bounds.clone(), number == 0));
                    if number + 1 == block.instructions && ip != block.end_ip {
                        return Err(format!("a block ends at {ip:x}: {block:x?}"));
                    }
                    ip += u64::from(*lengths.get(&ip).ok_or_else(|| format!("none at {ip:x}: {block:x?}"))?);
                }
            }
            FlowItem::Event(event) => {
                let happened = said(event.kind, &mut active, &mut paging);
                found.extend(happened.map(|happened| (happened, bounds, true)));
            }
        }
    }
    Ok(found)
}

fn lengths_of(code: &Code) -> impl Iterator<Item = (u64, u8)> + '_ {
    code.instructions.iter().map(|&(offset, length)| (code.address + u64::from(offset), length))
}

/// What an event says, if it is one that the generator lists; `active` and `paging`: what the last one said, for each PSB
/// says it again.
fn said(kind: EventKind, active: &mut bool, paging: &mut Option<u64>) -> Option<Happened> {
    Some(match kind {
        EventKind::Enabled { ip, .. } => {
            *active = false;
            Happened::Enabled(ip)
        }
        EventKind::Disabled { ip: to, from } => Happened::Disabled { to, from },
        EventKind::AsyncBranch { from, to } => Happened::Interrupted { from, to },
        EventKind::Overflow { ip } => {
            *active = false;
            Happened::Lost(ip)
        }
        EventKind::Ptwrite { payload, ip } => Happened::Ptwrite { payload, ip: ip? },
        EventKind::Transaction { aborted: true, .. } => {
            *active = false;
            Happened::Aborted
        }
        EventKind::Transaction { active: now, .. } if now != *active => {
            *active = now;
            if now { Happened::Began } else { Happened::Committed }
        }
        EventKind::EventData { kind, payload } => Happened::Data { kind, payload },
        EventKind::ControlFlowEvent { kind, vector, ip } => Happened::Reported { kind, vector, ip: ip? },
        EventKind::Paging { cr3, .. } if paging.replace(cr3) != Some(cr3) => Happened::Paging(cr3),
        EventKind::TraceStop => Happened::Stopped,
        _ => return None,
    })
}

/// Holds what was found against what happened, and its time.
fn compare(program: &Program, found: &[Found]) -> Result<(), String> {
    let differ = program.happened.iter().zip(found).position(|((_, one), (other, ..))| one != other);
    if differ.is_some() || program.happened.len() != found.len() {
        let at = differ.unwrap_or(found.len().min(program.happened.len()));
        let near = at.saturating_sub(3);
        let expected: Vec<_> = program.happened.iter().skip(near).take(8).map(|(_, what)| what).collect();
        let found: Vec<_> = found.iter().skip(near).take(8).map(|(what, ..)| what).collect();
        return Err(format!("at {at}: expected {expected:x?}\nfound {found:x?}"));
    }
    let mut before = 0;
    for (index, (&(tsc, what), (_, bounds, begins))) in program.happened.iter().zip(found).enumerate() {
        // After a packet that binds to no instruction the time is its, whatever ran before it.
        let early = tsc < bounds.start && program.unbound.binary_search(&bounds.start).is_err();
        if program.has_exact_times && *begins && (early || before > bounds.end) {
            return Err(format!("{index}, {what:x?}: between {before} and {tsc}, not {bounds:?}"));
        }
        before = tsc;
    }
    Ok(())
}

/// Counts instructions, and keeps all else.
#[derive(Default)]
struct Sum {
    instructions: u64,
    others: Vec<FlowItem>,
}

impl FlowSink for Sum {
    fn item(&mut self, item: &FlowItem) -> std::ops::ControlFlow<()> {
        if !matches!(item, FlowItem::Block(_)) {
            self.others.push(item.clone());
        }
        std::ops::ControlFlow::Continue(())
    }

    fn grain(&self) -> Grain {
        Grain::Sums
    }

    fn sum(&mut self, _: Option<model::ThreadId>, instructions: u64) {
        self.instructions += instructions;
    }
}

/// A program beside its code, some of it in files.
struct Trial<'p> {
    program: &'p Program,
    memory: Memory<'p>,
    instructions: u64,
}

impl Trial<'_> {
    /// What an engine says of the trace, which comes in so many pieces, is what happened.
    fn check(&self, kind: EngineKind, pieces: usize) -> Result<(), String> {
        with_window(self.program, pieces, |window| self.check_window(kind, window))
    }

    fn check_window(&self, kind: EngineKind, window: &Window<'_>) -> Result<(), String> {
        let mut engine = Decoder::new(kind, config(self.program), Limits::default());
        let flow = decode_window(&mut engine, window, &self.memory).expect("memory");
        compare(self.program, &found(&flow, self.program, &self.memory, kind)?)?;
        // The same engine, which knows the code now, for the sum alone; and again, as it learns what whole packets do.
        for turn in 0..3 {
            let mut sum = Sum::default();
            engine.decode(window, &self.memory, &mut sum).expect("memory");
            if sum.instructions != self.instructions {
                return Err(format!("a sum of {} instructions, turn {turn}", sum.instructions));
            }
            if !flow.items.iter().filter(|item| !matches!(item, FlowItem::Block(_))).eq(&sum.others) {
                return Err(format!("other events beside a sum, turn {turn}"));
            }
        }
        Ok(())
    }
}

/// Does `work` with all of the trace, which comes in so many pieces.
fn with_window<T>(program: &Program, pieces: usize, work: impl FnOnce(&Window<'_>) -> T) -> T {
    let chunk = program.trace.len().div_ceil(pieces).max(1);
    let pieces = program.trace.chunks(chunk).enumerate().map(|(number, bytes)| {
        let at = (number * chunk) as u64;
        Piece { bytes, aux_offset: at, file_offset: FileOffset(at) }
    });
    let (stream, _) = PtStream::new(None, None, pieces, false);
    work(&Window { stream: &stream, range: ALL, occupants: &[] })
}

/// The program of `seed` with its code, as far as that is in files in one in `folder`.
fn trial<'p>(seed: u64, program: &'p Program, folder: &Path) -> Trial<'p> {
    let file = Arc::new(folder.join(seed.to_string()));
    let bytes: Vec<u8> = program.code.iter().flat_map(|code| code.bytes.iter().copied()).collect();
    fs::write(&*file, bytes).expect("a file");
    let sections = sections(seed, program, &file).into();
    let memory = Memory { code: &program.code, epoch: CodeEpoch { id: 1, until: Tsc(u64::MAX), sections } };
    let ran = program.happened.iter().filter(|(_, what)| matches!(what, Happened::Ran(_)));
    Trial { program, memory, instructions: ran.count() as u64 }
}

/// What the native and libipt's engine made of the program of `seed`, and how many instructions it has.
fn check(seed: u64, program: &Program, folder: &Path) -> ([Result<(), String>; 2], u64) {
    let trial = trial(seed, program, folder);
    let pieces = usize::try_from(2 + seed % 50).expect("few");
    let native = trial.check(EngineKind::Native, 1).and_then(|()| trial.check(EngineKind::Native, pieces));
    let libipt = trial.check(EngineKind::Libipt, 1);
    ([native, libipt], trial.instructions)
}

/// The programs of `seeds` through both engines.
fn check_all(seeds: Range<u64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut instructions, mut classes) = (0, BTreeMap::<String, u64>::new());
    let (mut wrong, mut kinds) = (Vec::new(), BTreeMap::<String, u64>::new());
    for seed in seeds.clone() {
        let program = program(seed);
        for (_, what) in &program.happened {
            *kinds.entry(name(what)).or_default() += 1;
        }
        for code in &program.code {
            *kinds.entry(format!("{} bits", code.bits)).or_default() += 1;
        }
        let ([native, libipt], ran) = check(seed, &program, folder.path());
        instructions += ran;
        if let Err(what) = native {
            wrong.push(format!("seed {seed}: native: {what}"));
        }
        let class = match libipt {
            Ok(()) => "the same".to_owned(),
            Err(_) if !program.beyond_libipt.is_empty() => format!("{:?}", program.beyond_libipt),
            Err(what) => {
                wrong.push(format!("seed {seed}: libipt: {what}"));
                continue;
            }
        };
        *classes.entry(class).or_default() += 1;
    }
    println!("{seeds:?}: {instructions} instructions; {kinds:?}; libipt's engine: {classes:?}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
    // All that chance may choose was met.
    let least = kinds.values().min();
    assert!(kinds.len() == 16 && least.is_some_and(|&least| least > 50), "{kinds:?}");
    assert!(classes["the same"] > (seeds.end - seeds.start) * 9 / 10, "{classes:?}");
}

/// What kind of thing happened.
fn name(what: &Happened) -> String {
    format!("{what:?}").split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

#[test]
fn both_engines_know_what_random_programs_did() {
    check_all(0..300);
}

/// `scripts/test engines`.
#[test]
#[ignore = "takes minutes"]
fn both_engines_know_what_ten_thousand_random_programs_did() {
    check_all(0..10_000);
}
