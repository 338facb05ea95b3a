//! Packets that take their address from another packet.
//!
//! ```text
//! PTW(ip)  EXSTOP(ip)  CFE(ip)  BEP(ip)  MODE.TSX ──→ FUP      the FUP is theirs
//! CFE without ip, MODE.TSX abort ─────────────────→ FUP ──→ TIP  they share the FUP of the branch
//! MODE.Exec, PIP after a FUP ─────────────────────────────→ TIP, TIP.PGE, TIP.PGD
//! ```
//!
//! Source: Intel SDM vol. 3, "Intel Processor Trace", "FUP Packet" (table "FUP Cases and IP Payload"), "MODE Packets",
//! "PIP Packet", "Control Flow Event (CFE) Packet", "Event Data (EVD) Packet", "EXSTOP Packet", "PTWRITE Packet".

use super::{Cues, Next, Place, What, Wrong};
use crate::flow::EventKind;
use crate::native::blocks::Wanted;
use crate::packets::{Packet, PacketIp};

/// What waits for an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// Nothing where it only binds.
    what: Option<What>,
    /// The FUP is its own: no asynchronous branch begins there.
    owns: bool,
    /// The instruction at the address has run, too.
    with_it: bool,
}

const CFE_INTERRUPT: u8 = 1;
const CFE_IRET: u8 = 2;
const CFE_SMI: u8 = 3;
const CFE_RSM: u8 = 4;
const CFE_SIPI: u8 = 5;
const CFE_INIT: u8 = 6;
const CFE_VM_ENTRY: u8 = 7;
const CFE_VM_EXIT: u8 = 8;
const CFE_VM_EXIT_INTERRUPT: u8 = 9;
const CFE_SHUTDOWN: u8 = 10;
const CFE_USER_INTERRUPT: u8 = 12;
const CFE_USER_IRET: u8 = 13;
/// Of processors with FRED.
const CFE_SOFTWARE_INTERRUPT: u8 = 14;
const CFE_SYSCALL: u8 = 15;

impl Cues<'_> {
    /// A packet that is an event, or will be with an address.
    pub(super) fn notice(&mut self, packet: Packet, position: u64) {
        let plain = |kind| What::Flow([Some(kind), None, None]);
        match packet {
            Packet::Cbr(ratio) => {
                self.timing.apply(&packet, position);
                self.give(plain(EventKind::CoreBusRatio { ratio: u32::from(ratio) }), Place::Here);
            }
            Packet::Ptw { payload, ip, .. } => self.ptwrite(payload, ip),
            Packet::ExStop { ip } => self.execution_stop(ip, position),
            Packet::Mwait { hints, ext } => self.mwait = Some(EventKind::Mwait { hints, ext }),
            Packet::Pwre { state, sub_state, by_hardware } => {
                self.give(plain(EventKind::PowerEntry { state, sub_state, by_hardware }), Place::Here);
            }
            Packet::Pwrx { last, deepest, reason } => {
                let bit = |bit: u8| reason & 1 << bit != 0;
                let (interrupt, store, autonomous) = (bit(0), bit(2), bit(3));
                let kind = EventKind::PowerExit { last, deepest, interrupt, store, autonomous };
                self.give(plain(kind), Place::Here);
            }
            Packet::TraceStop => self.give(What::Stop, Place::Here),
            Packet::ModeExec { long, default_32, .. } => self.mode(mode_bits(long, default_32)),
            Packet::ModeTsx { active, aborted } => self.transaction(active, aborted),
            Packet::Pip { cr3, non_root } => self.paging(cr3, non_root),
            Packet::Evd { kind, payload } => self.data.push((kind, payload)),
            Packet::Cfe { kind, vector, ip } => self.control_flow(kind, vector, ip),
            // It is no event, but its FUP says that execution came there.
            Packet::Bep { ip: true } | Packet::Trig { ip: true, .. } => {
                self.wait_for_fup(What::Flow([None; 3]), true);
            }
            Packet::Vmcs(_) | Packet::Mnt(_) => self.give(What::Flow([None; 3]), Place::Here),
            _ => {}
        }
    }

    pub(super) fn wait_for_fup(&mut self, what: What, owns: bool) {
        self.for_fup.push(Waiting { what: Some(what), owns, with_it: false });
    }

    fn ptwrite(&mut self, payload: u64, ip: bool) {
        let what = What::Flow([Some(EventKind::Ptwrite { payload, ip: None }), None, None]);
        if ip {
            self.for_fup.push(Waiting { what: Some(what), owns: true, with_it: true });
        } else {
            self.give(what, Place::After(Wanted::Ptwrite));
        }
    }

    fn execution_stop(&mut self, ip: bool, position: u64) {
        let mwait = self.mwait.take().map(|mwait| What::Flow([Some(mwait), None, None]));
        let stop = What::Flow([Some(EventKind::ExecutionStopped { ip: None }), None, None]);
        if ip {
            mwait.into_iter().chain([stop]).for_each(|what| self.wait_for_fup(what, true));
            return;
        }
        if let Some(mwait) = mwait {
            self.at = position;
            self.push(mwait, Place::Here);
        }
        self.give(stop, Place::Here);
    }

    fn mode(&mut self, bits: u8) {
        // Said again it changes nothing, but it binds all the same.
        let what = (self.mode != Some(bits)).then_some(What::Mode(bits));
        self.mode = Some(bits);
        self.for_tip.push(Waiting { what, owns: true, with_it: false });
    }

    fn transaction(&mut self, active: bool, aborted: bool) {
        let what = What::Flow([Some(EventKind::Transaction { active, aborted }), None, None]);
        if self.on { self.wait_for_fup(what, !aborted) } else { self.give(what, Place::Here) }
    }

    fn paging(&mut self, cr3: u64, non_root: bool) {
        let what = What::Flow([Some(EventKind::Paging { cr3, non_root }), None, None]);
        if self.branch_from.is_some() {
            self.for_tip.push(Waiting { what: Some(what), owns: false, with_it: false });
        } else {
            self.give(what, Place::After(Wanted::Paging));
        }
    }

    fn control_flow(&mut self, kind: u8, vector: u8, ip: bool) {
        let vector = if has_vector(kind) { vector } else { 0 };
        let mut kinds = [None; 3];
        self.data.sort_by_key(|&(kind, _)| kind);
        for (slot, (kind, payload)) in kinds.iter_mut().zip(self.data.drain(..).take(2)) {
            *slot = Some(EventKind::EventData { kind, payload });
        }
        let free = kinds.iter().position(Option::is_none).unwrap_or(2);
        kinds[free] = Some(EventKind::ControlFlowEvent { kind, vector, ip: None });
        let what = What::Flow(kinds);
        // It comes after an instruction, not before one.
        let after = match kind {
            CFE_IRET => Some(Wanted::Iret),
            CFE_VM_ENTRY => Some(Wanted::VmEntry),
            CFE_USER_IRET => Some(Wanted::UserIret),
            CFE_SYSCALL => Some(Wanted::FarCall),
            _ => None,
        };
        match after {
            _ if ip => {
                self.for_fup.push(Waiting { what: Some(what), owns: true, with_it: after.is_some() });
            }
            Some(after) => self.give(what, Place::After(after)),
            None if self.on && shares_fup(kind) => self.wait_for_fup(what, false),
            None => self.give(what, Place::Here),
        }
    }

    /// A FUP: what waits for it is due, or an asynchronous branch begins here.
    pub(super) fn fup(&mut self, ip: PacketIp, position: u64) -> Result<(), Wrong> {
        self.last_ip.update(ip);
        let here = self.last_ip.get();
        let mut owned = false;
        let mut due = std::mem::take(&mut self.for_fup);
        // MODE.Exec binds to a FUP, too: the interrupt flag changed. Execution came there, whatever else it says.
        if self.branch_from.is_none() {
            let reached = |waiting: Waiting| waiting.what.or(Some(What::Flow([None; 3])));
            due.extend(self.for_tip.drain(..).map(|waiting| Waiting { what: reached(waiting), ..waiting }));
        }
        for waiting in due {
            owned |= waiting.owns;
            self.bind(waiting, here, position);
        }
        if owned {
            return Ok(());
        }
        if self.branch_from.is_some() {
            return Err(Wrong::Context("a branch within a branch"));
        }
        let from = here.ok_or(Wrong::Context("a branch from nowhere"))?;
        self.branch_from = Some(from);
        Ok(())
    }

    /// What waits takes its address and is due.
    fn bind(&mut self, waiting: Waiting, ip: Option<u64>, position: u64) {
        let Some(what) = waiting.what else { return };
        self.at = position;
        let what = match (what, ip) {
            (What::Flow(kinds), Some(ip)) => What::Flow(kinds.map(|kind| kind.map(|kind| located(kind, ip)))),
            (What::Overflow(_), ip) => {
                self.on = true;
                What::Overflow(ip)
            }
            (what, _) => what,
        };
        let place = match ip.filter(|_| !matches!(what, What::Overflow(_))) {
            Some(ip) if waiting.with_it => Place::After(Wanted::With(ip)),
            Some(ip) => Place::Before(ip),
            None => Place::Here,
        };
        self.push(what, place);
    }

    /// An overflow whose FUP is next.
    pub(super) fn overflow_before_fup(&mut self) {
        self.wait_for_fup(What::Overflow(None), true);
    }

    /// A TIP: an indirect branch, or the end of an asynchronous one.
    #[inline]
    pub(super) fn tip(&mut self, ip: PacketIp, position: u64) -> Result<Option<Next>, Wrong> {
        if !self.on {
            return Err(Wrong::Context("a branch while tracing is off"));
        }
        self.last_ip.update(ip);
        self.at = position;
        let to = self.last_ip.get();
        let from = self.branch_from.take();
        if let Some(from) = from {
            let to = to.ok_or(Wrong::Context("a branch to nowhere"))?;
            self.push(What::Branch { from, to }, Place::Before(from));
        }
        if !self.for_tip.is_empty() {
            for waiting in std::mem::take(&mut self.for_tip) {
                self.bind(waiting, to, position);
            }
        }
        if from.is_none() {
            return Ok(Some(Next::Target(to)));
        }
        Ok(self.next_ready())
    }

    /// A TIP.PGE.
    pub(super) fn enable(&mut self, ip: PacketIp, position: u64) -> Result<(), Wrong> {
        self.last_ip.update(ip);
        self.at = position;
        let here = self.last_ip.get().ok_or(Wrong::Context("tracing begins nowhere"))?;
        if self.branch_from.is_some() {
            return Err(Wrong::Context("tracing begins within a branch"));
        }
        self.on = true;
        self.push(What::Enabled(here), Place::Here);
        for waiting in std::mem::take(&mut self.for_tip) {
            self.bind(waiting, Some(here), position);
        }
        Ok(())
    }

    /// A TIP.PGD.
    pub(super) fn disable(&mut self, ip: PacketIp, position: u64) {
        self.last_ip.update(ip);
        let to = self.last_ip.get();
        let waiting = std::mem::take(&mut self.for_tip);
        let from = self.branch_from.take();
        self.on = false;
        if let Some(from) = from {
            self.at = position;
            self.push(What::BrokenOff { from, to }, Place::Before(from));
        }
        // What came with it takes effect with tracing off: at no address.
        for waiting in waiting {
            self.bind(waiting, None, position);
        }
        if from.is_none() {
            if self.ready.is_empty() {
                self.stand_after();
            }
            self.push(What::Disabled(to), Place::LastBranch(to));
        }
    }
}

/// Bits of the execution mode that MODE.Exec states.
pub(super) fn mode_bits(long: bool, default_32: bool) -> u8 {
    match (long, default_32) {
        (true, _) => 64,
        (false, true) => 32,
        (false, false) => 16,
    }
}

/// Whether a CFE of this type has a vector.
fn has_vector(kind: u8) -> bool {
    !matches!(
        kind,
        CFE_IRET
            | CFE_SMI
            | CFE_RSM
            | CFE_INIT
            | CFE_VM_ENTRY
            | CFE_VM_EXIT
            | CFE_SHUTDOWN
            | CFE_USER_IRET
            | CFE_SYSCALL
    )
}

/// Whether a CFE of this type without a FUP of its own comes before the FUP of an asynchronous branch.
fn shares_fup(kind: u8) -> bool {
    matches!(
        kind,
        CFE_INTERRUPT
            | CFE_SMI
            | CFE_RSM
            | CFE_SIPI
            | CFE_INIT
            | CFE_VM_EXIT
            | CFE_VM_EXIT_INTERRUPT
            | CFE_USER_INTERRUPT
            | CFE_SOFTWARE_INTERRUPT
    )
}

/// The event with its address.
fn located(kind: EventKind, at: u64) -> EventKind {
    let ip = Some(at);
    match kind {
        EventKind::Ptwrite { payload, .. } => EventKind::Ptwrite { payload, ip },
        EventKind::ExecutionStopped { .. } => EventKind::ExecutionStopped { ip },
        EventKind::ControlFlowEvent { kind: CFE_RSM, vector, .. } => {
            EventKind::ControlFlowEvent { kind: CFE_RSM, vector, ip: None }
        }
        EventKind::ControlFlowEvent { kind: CFE_SIPI, vector, .. } => {
            EventKind::ControlFlowEvent { kind: CFE_SIPI, vector, ip: None }
        }
        EventKind::ControlFlowEvent { kind, vector, .. } => EventKind::ControlFlowEvent { kind, vector, ip },
        kind => kind,
    }
}
