//! What the kernel lets perf see: the machine, locked memory, the kernel's code and its names.
//!
//! Source: admin-guide/perf-security, `kernel/events/core.c` (`perf_mmap`), `kernel_lockdown(7)`;
//! Docker's and containerd's default seccomp profile (`perf_event_open` by `CAP_PERFMON`: Docker 23).

use crate::doctor::examination::Examination;
use crate::doctor::finding::{Finding, Level};
use crate::machine::kcore::Kcore;
use crate::machine::privileges::{Capability, Container};

/// A container with all that record needs.
const DOCKER: [&str; 2] = [
    "docker run --pid host --cap-add PERFMON --cap-add SYSLOG --cap-add IPC_LOCK --cap-add SYS_RAWIO --cap-add DAC_READ_SEARCH \
     --security-opt systempaths=unconfined -v /sys/kernel/tracing:/sys/kernel/tracing …",
    "Docker before 23, Podman: --cap-add SYS_ADMIN as well",
];

/// A pod with all that record needs, but for the kernel's code.
const KUBERNETES: [&str; 4] = [
    "spec: hostPID: true",
    "securityContext: {capabilities: {add: [PERFMON, SYSLOG, DAC_READ_SEARCH, IPC_LOCK]}}",
    "volumes: [{name: tracing, hostPath: {path: /sys/kernel/tracing}}]",
    "volumeMounts: [{name: tracing, mountPath: /sys/kernel/tracing}]",
];

/// A pod that may read the kernel's code. Since Kubernetes 1.30 `procMount: Unmasked` is for user namespaces alone, whose capabilities do
/// not count.
const KERNEL_CODE: &str = "securityContext: {privileged: true}";

/// The finding with the lines for the container, where the process is in one, else with `command`.
fn mended(machine: &Examination, finding: Finding, command: &str) -> Finding {
    match machine.container {
        Some(Container::Plain) => DOCKER.into_iter().fold(finding, Finding::mended_by),
        Some(Container::Kubernetes) => KUBERNETES.into_iter().fold(finding, Finding::mended_by),
        None => finding.mended_by(command),
    }
}

/// Whether perf may record all CPUs and the kernel.
pub(super) fn permission(machine: &Examination) -> Finding {
    const CHECK: &str = "permission";
    let own = &machine.privileges;
    let paranoid = own.paranoid;
    if own.may_record_all() {
        let why = if own.has(Capability::Perfmon) {
            "CAP_PERFMON".to_owned()
        } else {
            format!("perf_event_paranoid {paranoid}")
        };
        return Finding::fine(CHECK, format!("perf may record all CPUs and the kernel ({why})"));
    }
    let finding = if own.is_in_user_namespace {
        format!("perf_event_paranoid is {paranoid}, and capabilities of a user namespace do not count")
    } else {
        format!("perf_event_paranoid is {paranoid}, and CAP_PERFMON is missing")
    };
    let means = match paranoid {
        ..=1 => "all CPUs can be recorded, or none, but not the contents of tracepoints",
        2 => "only this user's own processes can be recorded, without the kernel and without tracepoints",
        _ => "Debian's and Android's setting: no process without CAP_PERFMON may use perf",
    };
    let finding = mended(
        machine,
        Finding::of(Level::Stops, CHECK, finding, means),
        "sudo tailtrace record -- ./program",
    );
    finding.mended_by("sudo sysctl kernel.perf_event_paranoid=-1")
}

/// Whether the kernel keeps its memory from root, too.
pub(super) fn lockdown(machine: &Examination) -> Finding {
    const CHECK: &str = "lockdown";
    if machine.privileges.is_locked_down {
        let means = "perf, tracefs and /proc/kcore are closed to everyone until the machine boots without it";
        Finding::of(Level::Stops, CHECK, "the kernel is locked down for confidentiality", means)
            .mended_by("remove lockdown=confidentiality from the kernel's command line, and boot")
    } else {
        Finding::fine(CHECK, "the kernel is not locked down for confidentiality")
    }
}

/// Whether perf may lock as much memory as its buffers have.
pub(super) fn mlock(machine: &Examination) -> Finding {
    const CHECK: &str = "mlock";
    let own = &machine.privileges;
    // The buffer for records has one page more.
    let for_cpu = machine.buffers.for_cpu().div_ceil(1 << 10) + 4;
    let allowed =
        own.mlock_kib.saturating_add(own.memlock_kib.unwrap_or(u64::MAX) / machine.online.len() as u64);
    let is_checked = own.paranoid > -1 && !own.has(Capability::IpcLock);
    if is_checked && for_cpu > allowed {
        let finding = format!("perf may lock {allowed} KiB for each CPU, and its buffers have {for_cpu} KiB");
        let means = "perf says \"Permission error mapping pages\"";
        Finding::of(Level::Stops, CHECK, finding, means)
            .mended_by(format!("sudo sysctl kernel.perf_event_mlock_kb={for_cpu}"))
            .mended_by("or: ulimit -l unlimited")
    } else {
        Finding::fine(CHECK, format!("perf may lock the {for_cpu} KiB of its buffers for each CPU"))
    }
}

/// Whether the kernel's code can be copied.
pub(super) fn kcore(machine: &Examination) -> Finding {
    const CHECK: &str = "kcore";
    let without = "record leaves --kcore out: kernel code is a gap, unless explain gets --vmlinux";
    let warning = |finding: &str| Finding::of(Level::Warning, CHECK, finding, without);
    match Kcore::of(&machine.tree, &machine.privileges) {
        Kcore::Readable => {
            Finding::fine(CHECK, "/proc/kcore can be read: the kernel's code is recorded with the trace")
        }
        Kcore::Missing => warning("there is no /proc/kcore").mended_by(
            "install the kernel's debug symbols (CONFIG_PROC_KCORE is missing), and explain --vmlinux FILE",
        ),
        Kcore::Masked => {
            unmasked(machine, warning("/proc/kcore is masked"), "run it outside of the container")
        }
        Kcore::Refused => {
            let finding = warning("/proc/kcore cannot be read: CAP_SYS_RAWIO is missing");
            unmasked(machine, finding, "sudo tailtrace record -- ./program")
        }
    }
}

/// As [`mended`], where the kernel's code is to be read.
fn unmasked(machine: &Examination, finding: Finding, command: &str) -> Finding {
    match machine.container {
        Some(Container::Kubernetes) => finding.mended_by(KERNEL_CODE),
        _ => mended(machine, finding, command),
    }
}

/// Whether the kernel's functions have names.
pub(super) fn kallsyms(machine: &Examination) -> Finding {
    const CHECK: &str = "kallsyms";
    let own = &machine.privileges;
    if own.shows_kernel_addresses() {
        Finding::fine(CHECK, "/proc/kallsyms shows addresses: kernel functions have names")
    } else {
        let finding = format!("/proc/kallsyms shows no addresses (kptr_restrict is {})", own.kptr_restrict);
        let means = "kernel functions have no names, unless explain gets --kallsyms or --vmlinux";
        let finding = Finding::of(Level::Warning, CHECK, finding, means);
        if own.kptr_restrict < 2 {
            mended(machine, finding, "sudo tailtrace record -- ./program")
        } else {
            finding.mended_by("sudo sysctl kernel.kptr_restrict=0")
        }
    }
}
