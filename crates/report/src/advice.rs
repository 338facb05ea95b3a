//! What people do about a cause of slowness: one table, each row with its source.
//!
//! Input: a reason that many outliers share. Output: a line of advice, or none: for most causes the place in the program says
//! more than any rule. Manual pages are those of the Linux man-pages project, `Documentation/` is the kernel's.

use crate::reasons::Reason;

/// Advice is on reasons with at least this share of all excess.
pub(crate) const SMALLEST_SHARE: f64 = 0.1;

/// A line of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Advice {
    /// The beginning of the cause's dotted name.
    cause: &'static str,
    /// What must stand in the reason or in whom it is due to; empty where the cause is enough.
    words: &'static str,
    /// What to try.
    pub(crate) text: &'static str,
    /// Where that is described.
    pub(crate) source: &'static str,
}

/// The first row that fits holds.
const TABLE: [Advice; 22] = [
    Advice {
        cause: "offcpu.lock",
        words: "kept off its CPU",
        text: "a lock with priority inheritance (PTHREAD_PRIO_INHERIT), or a CPU of its own for the holder",
        source: "pthread_mutexattr_setprotocol(3p), sched(7)",
    },
    Advice {
        cause: "offcpu.lock",
        words: "page faults",
        text: "touch or lock the holder's memory before it takes the lock (MAP_POPULATE, mlockall)",
        source: "mmap(2), mlock(2)",
    },
    Advice {
        cause: "offcpu.lock",
        words: "which slept",
        text: "let the holder release the lock before it sleeps, or wait on a condition, which releases it",
        source: "pthread_cond_wait(3p)",
    },
    Advice {
        cause: "offcpu.lock",
        words: "which ran",
        text: "compute before the lock is taken: hold it for the change alone, or divide what it protects",
        source: "Intel 64 and IA-32 Architectures Optimization Reference Manual, \"Thread Synchronization\"",
    },
    Advice {
        cause: "offcpu.socket",
        words: "delayed",
        text: "TCP_NODELAY at the sender, or TCP_QUICKACK at the receiver",
        source: "tcp(7)",
    },
    Advice {
        cause: "offcpu.preempted",
        words: "",
        text: "a CPU of its own (sched_setaffinity, isolated cpusets), or a real-time priority for the thread",
        source: "sched(7), cpuset(7), Documentation/admin-guide/kernel-parameters.txt: isolcpus",
    },
    Advice {
        cause: "offcpu.runnable",
        words: "",
        text: "a CPU of its own (sched_setaffinity, isolated cpusets), or a real-time priority for the thread",
        source: "sched(7), cpuset(7), Documentation/admin-guide/kernel-parameters.txt: isolcpus",
    },
    Advice {
        cause: "kernel.page-fault.major",
        words: "",
        text: "keep the file's pages in memory (mlock), or ask for them before (posix_fadvise WILLNEED)",
        source: "mlock(2), posix_fadvise(2)",
    },
    Advice {
        cause: "kernel.page-fault",
        words: "copies on write of a file's pages",
        text: "write to the pages before it matters, or map the file shared: a private mapping copies each page that is written",
        source: "mmap(2): MAP_PRIVATE, MAP_SHARED",
    },
    Advice {
        cause: "kernel.page-fault",
        words: "copies on write",
        text: "posix_spawn in place of fork, or touch the pages after it: a fork makes both copy what they write",
        source: "fork(2), posix_spawn(3)",
    },
    Advice {
        cause: "kernel.page-fault",
        words: "",
        text: "touch memory before it is needed (MAP_POPULATE, mlockall) and keep it (M_TRIM_THRESHOLD)",
        source: "mmap(2), mlock(2), mallopt(3)",
    },
    Advice {
        cause: "kernel.syscall.munmap",
        words: "",
        text: "keep mappings and use them again (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD of malloc)",
        source: "mallopt(3)",
    },
    Advice {
        cause: "kernel.ipi.call-function",
        words: "",
        text: "no munmap, mprotect or madvise in other threads during this time: each flushes the TLBs of all CPUs",
        source: "Documentation/arch/x86/tlb.rst",
    },
    Advice {
        cause: "kernel.timer",
        words: "",
        text: "no tick on the thread's CPU (nohz_full, with nothing else to run there)",
        source: "Documentation/timers/no_hz.rst",
    },
    Advice {
        cause: "kernel.irq.",
        words: "",
        text: "send the interrupt to another CPU (/proc/irq/N/smp_affinity)",
        source: "Documentation/core-api/irq/irq-affinity.rst",
    },
    Advice {
        cause: "kernel.softirq.net_rx",
        words: "",
        text: "receive packets on other CPUs (queues of the device, RPS)",
        source: "Documentation/networking/scaling.rst",
    },
    Advice {
        cause: "power.c-state-exit.",
        words: "",
        text: "forbid deep C-states while latency matters (hold /dev/cpu_dma_latency open with a small value)",
        source: "Documentation/admin-guide/pm/cpuidle.rst",
    },
    Advice {
        cause: "power.frequency-switch",
        words: "",
        text: "one frequency (the governor performance, or equal scaling_min_freq and scaling_max_freq)",
        source: "Documentation/admin-guide/pm/cpufreq.rst",
    },
    Advice {
        cause: "user.slower.frequency",
        words: "",
        text: "one frequency (the governor performance, or equal scaling_min_freq and scaling_max_freq)",
        source: "Documentation/admin-guide/pm/cpufreq.rst",
    },
    Advice {
        cause: "runtime.gc.go",
        words: "",
        text: "fewer collections (GOGC, GOMEMLIMIT), or less that is allocated",
        source: "go.dev/doc/gc-guide",
    },
    Advice {
        cause: "runtime.gc.jvm",
        words: "",
        text: "a collector with short pauses (-XX:+UseZGC)",
        source: "HotSpot Virtual Machine Garbage Collection Tuning Guide",
    },
    Advice {
        cause: "hardware.gap",
        words: "",
        text: "see whether the firmware interrupts the CPU (the tracer hwlat; the SMI column of turbostat)",
        source: "Documentation/trace/hwlat_detector.rst, turbostat(8)",
    },
];

/// What people do about `reason`; `None` where there is no good advice.
pub(crate) fn on(reason: &Reason) -> Option<&'static Advice> {
    let foremost = reason.blamed.first().map_or("", |blame| &blame.who);
    let holds = |advice: &&Advice| {
        let words = advice.words;
        reason.cause.starts_with(advice.cause) && (reason.what.contains(words) || foremost.contains(words))
    };
    TABLE.iter().find(holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reasons::Blame;

    fn reason(cause: &str, who: &str) -> Reason {
        let blamed =
            if who.is_empty() { Vec::new() } else { vec![Blame { who: who.to_owned(), ..Blame::default() }] };
        Reason { cause: cause.to_owned(), what: "waited for mutex".to_owned(), blamed, ..Reason::default() }
    }

    #[test]
    fn the_end_of_the_chain_chooses_the_advice() {
        let source = |cause, who| on(&reason(cause, who)).map(|advice| advice.source);
        assert_eq!(source("offcpu.lock", "held by a, which slept in keep()"), Some("pthread_cond_wait(3p)"));
        assert_eq!(
            source("offcpu.lock", "held by a, which had page faults in f()"),
            Some("mmap(2), mlock(2)")
        );
        assert_eq!(source("offcpu.lock", "held by a"), None);
        assert_eq!(source("user.extra-work", ""), None);
    }

    /// A row that one before it hides would never be said; each has a source and fits on two lines.
    #[test]
    fn each_row_can_be_reached_and_has_a_source() {
        for (index, row) in TABLE.iter().enumerate() {
            let hides =
                |other: &&Advice| row.cause.starts_with(other.cause) && row.words.contains(other.words);
            assert_eq!(TABLE[..index].iter().find(hides), None, "{row:?}");
            assert!(!row.source.is_empty() && row.text.len() + row.source.len() < 190, "{row:?}");
        }
    }
}
