//! What the kernel lets this process record: capabilities, limits, the settings that lower or raise them, and the container.
//!
//! Source: capabilities(7), `user_namespaces(7)`, admin-guide/perf-security, admin-guide/sysctl/kernel
//! (`perf_event_paranoid`, `perf_event_mlock_kb`, `kptr_restrict`), `kernel_lockdown(7)`.

use super::tree::Tree;

/// A capability, by its number in `linux/capability.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    /// Memory may be locked beyond the limits.
    IpcLock = 14,
    /// `/proc/kcore` may be opened.
    SysRawio = 17,
    /// All that `PERFMON` and `SYSLOG` give, and more.
    SysAdmin = 21,
    /// Kernel addresses are shown.
    Syslog = 34,
    /// perf may record the kernel and other users' processes (Linux 5.8).
    Perfmon = 38,
}

/// What the kernel lets this process do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Privileges {
    effective: u64,
    /// Whether the capabilities are those of a user namespace: there perf's checks ignore them.
    pub(crate) is_in_user_namespace: bool,
    /// `kernel.perf_event_paranoid`.
    pub(crate) paranoid: i64,
    /// `kernel.perf_event_mlock_kb`: KiB for each CPU that a user may lock for perf's buffers.
    pub(crate) mlock_kib: u64,
    /// KiB that the process may lock besides (`ulimit -l`); `None` without a limit.
    pub(crate) memlock_kib: Option<u64>,
    /// `kernel.kptr_restrict`.
    pub(crate) kptr_restrict: i64,
    /// Whether the kernel keeps its memory secret even from root (`lockdown=confidentiality`).
    pub(crate) is_locked_down: bool,
}

/// What isolates the process from the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// Docker, Podman or another.
    Plain,
    /// A pod.
    Kubernetes,
}

impl Privileges {
    /// Those of the process that the tree's `/proc/self` describes. What is missing has the kernel's default.
    pub(crate) fn of(tree: &Tree) -> Privileges {
        let status = tree.text("proc/self/status").unwrap_or_default();
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let map = tree.text("proc/self/uid_map");
        let kernel = |name: &str| tree.integer(&format!("proc/sys/kernel/{name}"));
        Privileges {
            effective: effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0),
            is_in_user_namespace: map
                .is_some_and(|map| map.split_whitespace().collect::<Vec<_>>() != ["0", "0", "4294967295"]),
            paranoid: kernel("perf_event_paranoid").unwrap_or(2),
            mlock_kib: kernel("perf_event_mlock_kb").and_then(|kib| kib.try_into().ok()).unwrap_or(516),
            memlock_kib: locked(&tree.text("proc/self/limits").unwrap_or_default()),
            kptr_restrict: kernel("kptr_restrict").unwrap_or(0),
            is_locked_down: tree
                .text("sys/kernel/security/lockdown")
                .is_some_and(|modes| modes.contains("[confidentiality]")),
        }
    }

    /// Whether the process has the capability where perf's checks look for it.
    pub(crate) fn has(&self, capability: Capability) -> bool {
        let bit = |capability: Capability| self.effective >> capability as u32 & 1 == 1;
        let implied = matches!(capability, Capability::Perfmon) && bit(Capability::SysAdmin);
        !self.is_in_user_namespace && (bit(capability) || implied)
    }

    /// Whether the process has no capability at all, as a plain user's.
    pub(crate) fn is_plain_user(&self) -> bool {
        self.effective == 0
    }

    /// Whether perf may record all CPUs, the kernel and tracepoints' contents.
    pub(crate) fn may_record_all(&self) -> bool {
        self.has(Capability::Perfmon) || self.paranoid < 0
    }

    /// Whether `/proc/kallsyms` shows addresses (`kallsyms_show_value`).
    pub(crate) fn shows_kernel_addresses(&self) -> bool {
        match self.kptr_restrict {
            0 => self.paranoid <= 1 || self.has(Capability::Syslog),
            1 => self.has(Capability::Syslog),
            _ => false,
        }
    }
}

impl Container {
    /// The container that the process runs in; `None` outside of one, as far as its files show.
    pub(crate) fn of(tree: &Tree) -> Option<Container> {
        if tree.has("var/run/secrets/kubernetes.io") || tree.has("run/secrets/kubernetes.io") {
            return Some(Container::Kubernetes);
        }
        let marked = [".dockerenv", "run/.containerenv"].iter().any(|path| tree.has(path));
        marked.then_some(Container::Plain)
    }
}

/// The soft limit of locked memory in `/proc/self/limits`, in KiB. A file without it counts as the default of 8 MiB.
fn locked(limits: &str) -> Option<u64> {
    let bytes = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    match bytes.and_then(|line| line.split_whitespace().next()) {
        Some("unlimited") => None,
        Some(bytes) => Some(bytes.parse().unwrap_or(0) / 1024),
        None => Some(8 << 10),
    }
}
