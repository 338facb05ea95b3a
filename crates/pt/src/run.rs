//! One run: libipt's blocks and events from one PSB to another, given to the emitter.

mod timing;

use libipt_sys as ipt;
use model::Tsc;

use crate::blocks::EXSTOP_IP;
use crate::classes::{INSTRUCTION_BYTES, decode_one};
use crate::clock::TscEstimate;
use crate::decode::Walk;
use crate::endless::Unbroken;
use crate::error::Error;
use crate::flow::{Block, BlockEnd, EventKind, GapReason};
use crate::instructions::instructions;
use crate::packets::PSB;
use crate::sys::{BlockDecoder, Fault, ImageStore, RawBlock, RawEvent, Status, What};

/// Most bytes from a packet to after the FUP that it binds.
const BOUND_BYTES: usize = 32;

/// Trace in one place, beginning with a PSB.
#[derive(Clone, Copy)]
pub(crate) struct Run<'b> {
    pub(crate) bytes: &'b [u8],
    /// Stream position of the first byte; wraps after a synthetic PSB+.
    pub(crate) base: u64,
    /// How many bytes at the front are made up.
    pub(crate) synthetic: usize,
    pub(crate) border: Border,
}

/// At which PSB after its start a run ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Border {
    /// At none: the bytes end where the stream has a hole or ends.
    None,
    /// At the first.
    First,
    /// At the last that is complete with its period, for the bytes go on elsewhere.
    Last,
}

/// How a run ended.
pub(crate) enum RunEnd {
    /// Nothing more is wanted.
    Done,
    /// At the PSB at this position.
    Border(u64),
    /// No bytes are left.
    Exhausted,
    /// Something is wrong.
    Fault(Trouble),
}

/// A fault and its place.
pub(crate) struct Trouble {
    pub(crate) reason: GapReason,
    /// Offset of the packet that decoding stood at.
    pub(crate) at: usize,
    /// Offset of the PSB last passed.
    pub(crate) sync: usize,
}

/// What one run must remember.
struct RunState {
    /// The clock, and the packet border up to which it knows the bytes.
    clock: TscEstimate,
    clock_at: usize,
    /// The next PSB's offset, up to which no time can be later than `latest`.
    period_end: usize,
    latest: Tsc,
    /// Offset of the PSB last passed.
    sync: usize,
    /// The PSB the run ends at, once its PSB+ was read, and the address it names.
    border: Option<(usize, u64)>,
    /// A PSB+ was read whose FUP execution has yet to reach: its time and events wait.
    settling: bool,
    held: Vec<(EventKind, u64)>,
    unbroken: Unbroken,
}

/// What a PSB+ means to a run.
enum AtSync {
    /// It is the run's first: its time and events count at once.
    Start,
    /// Execution has yet to reach its FUP.
    Passed,
    /// The run ends here.
    Border(RunEnd),
}

/// Whether the last instruction of a block takes its direction from a bit of a TNT (SDM: conditional branches and
/// compressed returns).
fn takes_bit(block: &RawBlock) -> bool {
    matches!(block.class(), ipt::pt_insn_class_ptic_cond_jump | ipt::pt_insn_class_ptic_return)
}

/// libipt 2.1.2 takes PWRE's hardware bit from bit 3; the SDM says bit 7. `before` ends with the packet.
fn corrected(kind: EventKind, before: &[u8]) -> EventKind {
    match (kind, before) {
        (EventKind::PowerEntry { state, sub_state, .. }, [.., 0x02, 0x22, low, _]) => {
            EventKind::PowerEntry { state, sub_state, by_hardware: low & 0x80 != 0 }
        }
        _ => kind,
    }
}

impl Walk<'_> {
    /// Decodes `run` from its first byte to its border, its end or a fault.
    pub(crate) fn run(&mut self, run: Run<'_>, images: &mut ImageStore) -> Result<RunEnd, Error> {
        let mut decoder = BlockDecoder::new(self.config, run.bytes, images, self.code)?;
        self.select(&mut decoder)?;
        let mut state = RunState {
            clock: TscEstimate::new(self.config),
            clock_at: 0,
            period_end: 0,
            latest: Tsc(u64::MAX),
            sync: 0,
            border: None,
            settling: false,
            held: Vec::new(),
            unbroken: Unbroken::default(),
        };
        let end = match decoder.sync(0) {
            Ok(status) => self.drive(&mut decoder, run, &mut state, status)?,
            Err(fault) => Self::fault(&decoder, &state, fault, 0),
        };
        self.emitter.arrive();
        for (kind, aux_offset) in state.held {
            self.emitter.event(kind, aux_offset);
        }
        self.emitter.stats.bytes += decoder.offset().min(run.bytes.len()) as u64;
        Ok(end)
    }

    fn drive(
        &mut self,
        decoder: &mut BlockDecoder<'_>,
        run: Run<'_>,
        state: &mut RunState,
        mut status: Status,
    ) -> Result<RunEnd, Error> {
        let (mut raw, mut event) = (RawBlock::empty(), RawEvent::empty());
        // After the packet that decides what comes next, and after the one that decided the last block.
        let mut offset = decoder.offset();
        let mut current = offset;
        loop {
            while status.event_pending() {
                let at = offset;
                status = match decoder.event(&mut event) {
                    Ok(status) => status,
                    Err(fault) => return Ok(Self::fault(decoder, state, fault, raw.end_ip())),
                };
                offset = decoder.offset();
                state.unbroken.end();
                self.emitter.arrive();
                let before = self.emitter.now();
                if event.is_tick() && !state.settling {
                    self.see_time(decoder, state, run, at)?;
                    if at != current {
                        self.emitter.read_ahead(before);
                    }
                } else if let Some(end) = self.event(decoder, run, state, &event, at)? {
                    return Ok(end);
                }
                if self.emitter.done() {
                    return Ok(RunEnd::Done);
                }
            }
            current = offset;
            let next = decoder.next(&mut raw, &mut status);
            offset = decoder.offset();
            if raw.instructions > 0 {
                if let Some(end) = self.block(offset, run, state, &raw) {
                    return Ok(end);
                }
                if takes_bit(&raw) {
                    self.emitter.arrive();
                }
            }
            match next {
                Ok(()) => {}
                // After the last packet libipt complains that a branch finds no trace.
                Err(_) if status.at_end() => return Ok(RunEnd::Exhausted),
                Err(fault) => {
                    let ip = self.fault_ip(&raw);
                    return Ok(Self::fault(decoder, state, fault, ip));
                }
            }
        }
    }

    fn block(&mut self, offset: usize, run: Run<'_>, state: &mut RunState, raw: &RawBlock) -> Option<RunEnd> {
        let mut block = self.translate(raw, run.base.wrapping_add(offset as u64));
        if let Some((border, ip)) = state.border
            && self.cut_at(&mut block, ip)
        {
            if block.instructions > 0 {
                self.emitter.block(&block);
            }
            return Some(RunEnd::Border(run.base.wrapping_add(border as u64)));
        }
        self.may_switch = block.kernel;
        self.emitter.block(&block);
        let ran = (block.ip, block.instructions);
        if state.unbroken.goes_on(offset, ran, takes_bit(raw), self.limits.silent_instructions) {
            let reason = GapReason::EndlessLoop { ip: block.end_ip };
            return Some(RunEnd::Fault(Trouble { reason, at: offset, sync: state.sync }));
        }
        if self.emitter.stats.instructions >= self.limits.instructions {
            self.emitter.stats.limited = true;
            return Some(RunEnd::Done);
        }
        None
    }

    fn translate(&mut self, raw: &RawBlock, aux_offset: u64) -> Block {
        let bits = match raw.mode() {
            ipt::pt_exec_mode_ptem_16bit => 16,
            ipt::pt_exec_mode_ptem_32bit => 32,
            _ => 64,
        };
        let end = match raw.class() {
            ipt::pt_insn_class_ptic_other => BlockEnd::FallThrough,
            ipt::pt_insn_class_ptic_cond_jump => BlockEnd::ConditionalBranch,
            ipt::pt_insn_class_ptic_jump => BlockEnd::Jump,
            ipt::pt_insn_class_ptic_call => BlockEnd::Call,
            ipt::pt_insn_class_ptic_return => BlockEnd::Return,
            ipt::pt_insn_class_ptic_far_call => BlockEnd::FarCall,
            ipt::pt_insn_class_ptic_far_return => BlockEnd::FarReturn,
            ipt::pt_insn_class_ptic_far_jump => BlockEnd::FarJump,
            ipt::pt_insn_class_ptic_ptwrite => BlockEnd::Other,
            _ => {
                let (presence, now) = (&self.presence, self.emitter.now());
                self.classes.end(presence.epoch().id, raw.end_ip(), bits, |into| {
                    self.code.read(presence.pid(), raw.end_ip(), now, into)
                })
            }
        };
        Block {
            ip: raw.ip,
            end_ip: raw.end_ip(),
            instructions: raw.instructions,
            end,
            bits,
            kernel: raw.ip >> 63 != 0,
            thread: self.emitter.thread(),
            time: self.emitter.open_time(),
            aux_offset,
        }
    }

    /// Takes in an event; returns how the run ends if it does here.
    fn event(
        &mut self,
        decoder: &mut BlockDecoder<'_>,
        run: Run<'_>,
        state: &mut RunState,
        event: &RawEvent,
        at: usize,
    ) -> Result<Option<RunEnd>, Error> {
        let what = event.what();
        let place = |offset: usize| run.base.wrapping_add(offset.max(run.synthetic) as u64);
        if let Some((border, _)) = state.border
            && event.is_status_update()
        {
            let ends = what == What::ExecMode;
            return Ok(ends.then(|| RunEnd::Border(place(border))));
        }
        if matches!(what, What::SyncEnabled(_) | What::SyncDisabled) {
            match self.sync_point(run, state, what, at) {
                AtSync::Start => {}
                AtSync::Passed => return Ok(None),
                AtSync::Border(end) => return Ok(Some(end)),
            }
        }
        let kinds = if let What::Flow(kinds) = what { kinds } else { [None; 3] };
        match kinds[0] {
            Some(EventKind::Enabled { .. } | EventKind::Disabled { .. }) => self.may_switch = true,
            Some(EventKind::AsyncBranch { to, .. }) => self.may_switch |= to >> 63 != 0,
            _ => {}
        }
        if state.settling && event.is_status_update() && what != What::ExecMode {
            state.held.extend(kinds.into_iter().flatten().map(|kind| (kind, place(at))));
            return Ok(None);
        }
        state.settling = false;
        self.see_time(decoder, state, run, at)?;
        for (kind, aux_offset) in state.held.drain(..) {
            self.emitter.event(kind, aux_offset);
        }
        for kind in kinds.into_iter().flatten() {
            if !self.is_stand_in(kind, run, at) {
                self.emitter.event(corrected(kind, &run.bytes[..at.min(run.bytes.len())]), place(at));
            }
        }
        Ok(None)
    }

    /// Whether an event before offset `at` comes from an EXSTOP that stands for another packet.
    fn is_stand_in(&self, kind: EventKind, run: Run<'_>, at: usize) -> bool {
        if !matches!(kind, EventKind::ExecutionStopped { .. }) {
            return false;
        }
        let end = run.base.wrapping_add(at as u64);
        let before = self.stand_ins.partition_point(|&position| position < end);
        let Some(behind) = before.checked_sub(1).map(|last| end - self.stand_ins[last]) else { return false };
        // The FUP follows at once, or after the time; an EXSTOP between them would be the processor's.
        let between = usize::try_from(behind).ok().filter(|&behind| behind <= BOUND_BYTES);
        let between = between.and_then(|behind| run.bytes.get(at.checked_sub(behind)? + EXSTOP_IP.len()..at));
        between.is_some_and(|bytes| memchr::memmem::find(bytes, &EXSTOP_IP).is_none())
    }

    /// A PSB+ was read: the run's own, one inside it, or the one it ends at.
    fn sync_point(&self, run: Run<'_>, state: &mut RunState, what: What, at: usize) -> AtSync {
        // The event comes with PSBEND; libipt itself keeps no note of PSBs it merely passes.
        let before = &run.bytes[..at.min(run.bytes.len())];
        let sync = memchr::memmem::rfind(before, &PSB).unwrap_or(state.sync);
        if sync == state.sync {
            return AtSync::Start;
        }
        if !self.is_border(run, sync) {
            (state.sync, state.settling) = (sync, true);
            return AtSync::Passed;
        }
        let What::SyncEnabled(ip) = what else {
            return AtSync::Border(RunEnd::Border(run.base.wrapping_add(sync as u64)));
        };
        state.border = Some((sync, ip));
        AtSync::Passed
    }

    fn is_border(&self, run: Run<'_>, sync: usize) -> bool {
        let position = run.base.wrapping_add(sync as u64);
        position >= self.stop
            || match run.border {
                Border::First => true,
                Border::None => self.holds_blocks(position),
                Border::Last => !self.period_in_piece(position) || self.holds_blocks(position),
            }
    }

    fn select(&mut self, decoder: &mut BlockDecoder<'_>) -> Result<(), Error> {
        self.emitter.on(self.presence.thread());
        decoder.set_time(self.emitter.now());
        decoder.select(self.presence.pid(), self.presence.epoch())
    }

    fn fault(decoder: &BlockDecoder<'_>, state: &RunState, fault: Fault, ip: u64) -> RunEnd {
        let reason = match fault {
            Fault::EOS => return RunEnd::Exhausted,
            Fault::NOMAP => GapReason::NoCode { ip },
            Fault::BAD_OPCODE | Fault::BAD_PACKET => GapReason::BadPacket,
            _ => GapReason::Mismatch { ip, message: fault.message() },
        };
        RunEnd::Fault(Trouble { reason, at: decoder.offset(), sync: state.sync })
    }

    /// The address that could not be fetched or understood, after what was decoded of a block.
    fn fault_ip(&self, raw: &RawBlock) -> u64 {
        if raw.instructions == 0 {
            return raw.ip;
        }
        let mut bytes = [0; INSTRUCTION_BYTES];
        let count = self.code.read(self.presence.pid(), raw.end_ip(), self.emitter.now(), &mut bytes);
        let last = decode_one(&bytes[..count.min(INSTRUCTION_BYTES)], raw.end_ip(), 64);
        match last.near_branch_target() {
            0 => last.next_ip(),
            target => target,
        }
    }

    /// Cuts `block` before the instruction at `ip`; false where it does not run over it.
    fn cut_at(&self, block: &mut Block, ip: u64) -> bool {
        let (mut before, mut last, mut found) = (0, block.ip, false);
        if block.ip <= ip && ip <= block.end_ip {
            instructions(block, self.code, self.presence.pid(), |address| {
                found |= address == ip;
                if !found {
                    (before, last) = (before + 1, address);
                }
            });
        }
        if found {
            (block.instructions, block.end_ip, block.end) = (before, last, BlockEnd::FallThrough);
        }
        found
    }
}
