//! Test that `docs/causes.md` has one paragraph for each cause, and none for a cause that does not exist.

use std::collections::BTreeSet;

use model::{Cause, FaultKind, OffCpu, Slower};

/// Every cause, a name that varies being written as the page writes it.
fn all() -> Vec<Cause> {
    let named = |name: &str| format!("<{name}>");
    let mut causes = vec![
        Cause::UserExpected,
        Cause::UserExtraWork,
        Cause::UserSpin,
        Cause::Syscall(named("name")),
        Cause::Irq(named("name")),
        Cause::Timer,
        Cause::Ipi(named("what")),
        Cause::Softirq(named("name")),
        Cause::Nmi,
        Cause::Schedule,
        Cause::KernelSpin,
        Cause::KernelThread(named("kind")),
        Cause::KernelUnknown,
        Cause::CStateExit(named("state")),
        Cause::FrequencySwitch,
        Cause::Gc(named("runtime")),
        Cause::Idle(named("runtime")),
        Cause::QueueBehind,
        Cause::QueueRuntime,
        Cause::HardwareGap,
        Cause::TraceLoss,
        Cause::TraceFiltered,
        Cause::Unexplained,
    ];
    causes.extend([Slower::Frequency, Slower::FrontEnd, Slower::Other].map(Cause::UserSlower));
    causes.extend([FaultKind::Minor, FaultKind::Major].map(Cause::PageFault));
    let waits = [OffCpu::Lock, OffCpu::Socket, OffCpu::BlockIo, OffCpu::Sleep, OffCpu::Poll, OffCpu::Other];
    causes.extend([OffCpu::Preempted, OffCpu::Runnable].into_iter().chain(waits).map(Cause::OffCpu));
    causes
}

/// Fails to compile when a cause is added to the model: add it to [`all`] and to the page.
fn is_listed(cause: &Cause) -> bool {
    match cause {
        Cause::UserExpected
        | Cause::UserExtraWork
        | Cause::UserSlower(Slower::Frequency | Slower::FrontEnd | Slower::Other)
        | Cause::UserSpin
        | Cause::Syscall(_)
        | Cause::PageFault(FaultKind::Minor | FaultKind::Major)
        | Cause::Irq(_)
        | Cause::Timer
        | Cause::Ipi(_)
        | Cause::Softirq(_)
        | Cause::Nmi
        | Cause::Schedule
        | Cause::KernelSpin
        | Cause::KernelThread(_)
        | Cause::KernelUnknown
        | Cause::OffCpu(
            OffCpu::Preempted
            | OffCpu::Runnable
            | OffCpu::Lock
            | OffCpu::Socket
            | OffCpu::BlockIo
            | OffCpu::Sleep
            | OffCpu::Poll
            | OffCpu::Other,
        )
        | Cause::CStateExit(_)
        | Cause::FrequencySwitch
        | Cause::Gc(_)
        | Cause::Idle(_)
        | Cause::QueueBehind
        | Cause::QueueRuntime
        | Cause::HardwareGap
        | Cause::TraceLoss
        | Cause::TraceFiltered
        | Cause::Unexplained => true,
    }
}

#[test]
fn one_paragraph_per_cause() {
    let page = include_str!("../../../docs/causes.md");
    let described: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("**`"))
        .filter_map(|line| Some(line.split_once("`**:")?.0))
        .collect();
    let names: Vec<String> = all().iter().filter(|cause| is_listed(cause)).map(Cause::to_string).collect();
    let expected: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(described, expected);
}
