//! libipt's events, translated into the flow's.
#![allow(unsafe_code, reason = "an event is a C union; its type field says which variant was written")]

use libipt_sys as ipt;

use crate::flow::EventKind;

/// What one libipt event means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Up to three events of the flow, in order.
    Flow([Option<EventKind>; 3]),
    /// Nothing but a time.
    Tick,
    /// The execution mode applies from here.
    ExecMode,
    /// A PSB+ says that tracing is on, and where execution is (its FUP).
    SyncEnabled(u64),
    /// A PSB+ says that tracing is off.
    SyncDisabled,
}

/// An event of libipt.
pub(crate) struct RawEvent(pub(super) ipt::pt_event);

impl RawEvent {
    /// An event for [`super::BlockDecoder::event`] to fill.
    pub(crate) fn empty() -> RawEvent {
        // SAFETY: an all-zero event is valid: integers and a union of integers.
        RawEvent(unsafe { std::mem::zeroed() })
    }

    /// Whether it only says that time passed: nine of ten do.
    #[inline]
    pub(crate) fn is_tick(&self) -> bool {
        self.0.type_ == ipt::pt_event_type_ptev_tick
    }

    /// Whether it is part of a PSB+ and repeats what holds anyway.
    pub(crate) fn is_status_update(&self) -> bool {
        self.0.status_update() != 0
    }

    /// What it means.
    pub(crate) fn what(&self) -> What {
        let event = &self.0;
        let status = self.is_status_update();
        match event.type_ {
            ipt::pt_event_type_ptev_tick => What::Tick,
            ipt::pt_event_type_ptev_exec_mode => What::ExecMode,
            ipt::pt_event_type_ptev_enabled if status => {
                // SAFETY: libipt wrote the variant that `type_` names; all variants are integers.
                What::SyncEnabled(unsafe { event.variant.enabled.ip })
            }
            ipt::pt_event_type_ptev_disabled if status => What::SyncDisabled,
            ipt::pt_event_type_ptev_interrupt
            | ipt::pt_event_type_ptev_iret
            | ipt::pt_event_type_ptev_smi
            | ipt::pt_event_type_ptev_rsm
            | ipt::pt_event_type_ptev_sipi
            | ipt::pt_event_type_ptev_init
            | ipt::pt_event_type_ptev_vmentry
            | ipt::pt_event_type_ptev_vmexit
            | ipt::pt_event_type_ptev_shutdown
            | ipt::pt_event_type_ptev_uintr
            | ipt::pt_event_type_ptev_uiret => What::Flow(control_flow_event(event)),
            _ => What::Flow([flow_event(event), None, None]),
        }
    }
}

/// An event that is one event of the flow.
fn flow_event(event: &ipt::pt_event) -> Option<EventKind> {
    let known = |ip: u64| (event.ip_suppressed() == 0).then_some(ip);
    let variant = &event.variant;
    // SAFETY: libipt wrote the variant that `type_` names; all variants are integers.
    unsafe {
        Some(match event.type_ {
            ipt::pt_event_type_ptev_enabled => {
                EventKind::Enabled { ip: variant.enabled.ip, resumed: variant.enabled.resumed() != 0 }
            }
            ipt::pt_event_type_ptev_disabled => {
                EventKind::Disabled { ip: known(variant.disabled.ip), from: None }
            }
            ipt::pt_event_type_ptev_async_disabled => {
                let from = Some(variant.async_disabled.at);
                EventKind::Disabled { ip: known(variant.async_disabled.ip), from }
            }
            ipt::pt_event_type_ptev_async_branch => {
                EventKind::AsyncBranch { from: variant.async_branch.from, to: variant.async_branch.to }
            }
            ipt::pt_event_type_ptev_paging => {
                EventKind::Paging { cr3: variant.paging.cr3, non_root: variant.paging.non_root() != 0 }
            }
            ipt::pt_event_type_ptev_async_paging => EventKind::Paging {
                cr3: variant.async_paging.cr3,
                non_root: variant.async_paging.non_root() != 0,
            },
            ipt::pt_event_type_ptev_overflow => EventKind::Overflow { ip: known(variant.overflow.ip) },
            ipt::pt_event_type_ptev_ptwrite => {
                EventKind::Ptwrite { payload: variant.ptwrite.payload, ip: known(variant.ptwrite.ip) }
            }
            ipt::pt_event_type_ptev_cbr => EventKind::CoreBusRatio { ratio: u32::from(variant.cbr.ratio) },
            ipt::pt_event_type_ptev_tsx => EventKind::Transaction {
                active: variant.tsx.speculative() != 0,
                aborted: variant.tsx.aborted() != 0,
            },
            ipt::pt_event_type_ptev_stop => EventKind::TraceStop,
            _ => return power_event(event),
        })
    }
}

/// An event of a power state.
fn power_event(event: &ipt::pt_event) -> Option<EventKind> {
    let known = |ip: u64| (event.ip_suppressed() == 0).then_some(ip);
    let variant = &event.variant;
    // SAFETY: libipt wrote the variant that `type_` names; all variants are integers.
    unsafe {
        Some(match event.type_ {
            ipt::pt_event_type_ptev_exstop => EventKind::ExecutionStopped { ip: known(variant.exstop.ip) },
            ipt::pt_event_type_ptev_mwait => {
                EventKind::Mwait { hints: variant.mwait.hints, ext: variant.mwait.ext }
            }
            ipt::pt_event_type_ptev_pwre => EventKind::PowerEntry {
                state: variant.pwre.state,
                sub_state: variant.pwre.sub_state,
                by_hardware: variant.pwre.hw() != 0,
            },
            ipt::pt_event_type_ptev_pwrx => EventKind::PowerExit {
                last: variant.pwrx.last,
                deepest: variant.pwrx.deepest,
                interrupt: variant.pwrx.interrupt() != 0,
                store: variant.pwrx.store() != 0,
                autonomous: variant.pwrx.autonomous() != 0,
            },
            _ => return None,
        })
    }
}

/// An Event Trace event: the EVD payloads that libipt merged into it, then the CFE. Kinds and vectors as the
/// packets spell them (SDM vol. 3, "Control Flow Event (CFE) Packet", "Event Data (EVD) Packet").
fn control_flow_event(event: &ipt::pt_event) -> [Option<EventKind>; 3] {
    let known = |ip: u64| (event.ip_suppressed() == 0).then_some(ip);
    let cfe = |kind, vector, ip| Some(EventKind::ControlFlowEvent { kind, vector, ip });
    let data = |kind, payload| EventKind::EventData { kind, payload };
    let variant = &event.variant;
    // SAFETY: libipt wrote the variant that `type_` names; all variants are integers.
    unsafe {
        match event.type_ {
            ipt::pt_event_type_ptev_interrupt => {
                let interrupt = variant.interrupt;
                let fault = (interrupt.has_cr2() != 0).then(|| data(0x00, interrupt.cr2));
                [fault, cfe(0x01, interrupt.vector, known(interrupt.ip)), None]
            }
            ipt::pt_event_type_ptev_vmexit => {
                let exit = variant.vmexit;
                let qualification = (exit.has_vmxq() != 0).then(|| data(0x01, exit.vmxq));
                let reason = (exit.has_vmxr() != 0).then(|| data(0x02, exit.vmxr));
                let kind = if exit.has_vector() != 0 { 0x09 } else { 0x08 };
                [qualification, reason, cfe(kind, exit.vector, known(exit.ip))]
            }
            ipt::pt_event_type_ptev_iret => [cfe(0x02, 0, known(variant.iret.ip)), None, None],
            ipt::pt_event_type_ptev_smi => [cfe(0x03, 0, known(variant.smi.ip)), None, None],
            ipt::pt_event_type_ptev_rsm => [cfe(0x04, 0, known(variant.rsm.ip)), None, None],
            ipt::pt_event_type_ptev_sipi => [cfe(0x05, variant.sipi.vector, None), None, None],
            ipt::pt_event_type_ptev_init => [cfe(0x06, 0, known(variant.init.ip)), None, None],
            ipt::pt_event_type_ptev_vmentry => [cfe(0x07, 0, known(variant.vmentry.ip)), None, None],
            ipt::pt_event_type_ptev_shutdown => [cfe(0x0a, 0, known(variant.shutdown.ip)), None, None],
            ipt::pt_event_type_ptev_uintr => {
                [cfe(0x0c, variant.uintr.vector, known(variant.uintr.ip)), None, None]
            }
            ipt::pt_event_type_ptev_uiret => [cfe(0x0d, 0, known(variant.uiret.ip)), None, None],
            _ => [None; 3],
        }
    }
}
