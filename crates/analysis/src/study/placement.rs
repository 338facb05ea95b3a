//! What the machine file adds to causes: that the CPU was not kept free, and what chose its frequency.
//!
//! Input: an outlier's report, where its thread was, and the machine file. Output: words after the causes that they concern.

use std::collections::BTreeSet;

use attribution::{Stay, Whereabouts};
use model::{Cpu, CpuList};
use perfdata::{LeaveReason, Machine};
use report::OutlierReport;

/// The causes that another setting of the machine would have prevented.
const PREEMPTED: &str = "offcpu.preempted";
const SLOWER: &str = "user.slower.frequency";
/// A governor that keeps the highest frequency.
const FASTEST: &str = "performance";

/// Adds what `machine` says to the report on an outlier whose thread was at `stays`.
pub(super) fn add(report: &mut OutlierReport, stays: &[Stay], machine: &Machine) {
    for total in &mut report.causes {
        let words = match total.cause.as_str() {
            PREEMPTED => isolation(stays, machine),
            SLOWER => governor(stays, machine),
            _ => None,
        };
        if let Some(words) = words {
            let separator = if total.detail.is_empty() { "" } else { "; " };
            total.detail.extend([separator, &words]);
        }
    }
}

/// Where it was preempted, if some CPUs of the machine are isolated.
fn isolation(stays: &[Stay], machine: &Machine) -> Option<String> {
    let isolated = machine.isolated.as_deref().filter(|list| !list.is_empty())?;
    let list = CpuList::parse(isolated)?;
    let is_preempted = |stay: &&Stay| stay.place == Whereabouts::OffCpu(LeaveReason::Preempted);
    let cpus: BTreeSet<Cpu> = stays.iter().filter(is_preempted).filter_map(|stay| stay.left_cpu).collect();
    let said = |cpus: Vec<&Cpu>, what: String| {
        let named: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        (!named.is_empty()).then(|| format!("on CPU {}, {what}", named.join(", ")))
    };
    let (kept, free): (Vec<&Cpu>, Vec<&Cpu>) = cpus.iter().partition(|cpu| list.contains(**cpu));
    let verb = if free.len() > 1 { "are" } else { "is" };
    said(free, format!("which {verb} not isolated (CPUs {isolated} are)"))
        .or_else(|| said(kept, "although isolated".to_owned()))
}

/// What chose the frequency of the CPUs where it ran, unless that keeps the highest one.
fn governor(stays: &[Stay], machine: &Machine) -> Option<String> {
    let cpus: BTreeSet<Cpu> = stays.iter().filter_map(|stay| stay.place.cpu()).collect();
    let of = |cpu: &Cpu| machine.cpus.iter().find(|known| known.cpu == cpu.0)?.governor.as_deref();
    let governors: BTreeSet<&str> = cpus.iter().filter_map(of).filter(|name| *name != FASTEST).collect();
    let named: Vec<&str> = governors.into_iter().collect();
    (!named.is_empty()).then(|| format!("its CPU has the frequency governor {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use model::{Pid, ThreadId, Tid, Tsc, TscRange};
    use perfdata::MachineCpu;

    use super::*;

    /// On CPU 1, preempted there, on CPU 3, preempted there, asleep.
    fn stays() -> Vec<Stay> {
        let thread = Some(ThreadId { pid: Pid(7), tid: Tid(7) });
        let stay = |at: u64, place, left: Option<u32>| {
            let range = TscRange::new(Tsc(at), Tsc(at + 10));
            Stay { left_cpu: left.map(Cpu), ..Stay::new(range, thread, place) }
        };
        let off = Whereabouts::OffCpu;
        vec![
            stay(0, Whereabouts::OnCpu(Cpu(1)), None),
            stay(10, off(LeaveReason::Preempted), Some(1)),
            stay(20, Whereabouts::OnCpu(Cpu(3)), None),
            stay(30, off(LeaveReason::Preempted), Some(3)),
            stay(40, off(LeaveReason::Slept(Some('S'))), Some(2)),
        ]
    }

    fn isolated(list: Option<&str>) -> Option<String> {
        isolation(&stays(), &Machine { isolated: list.map(str::to_owned), ..Machine::default() })
    }

    #[test]
    fn a_preempted_thread_was_on_a_cpu_that_is_not_isolated() {
        assert_eq!(isolated(Some("0-1")).as_deref(), Some("on CPU 3, which is not isolated (CPUs 0-1 are)"));
        assert_eq!(
            isolated(Some("4-7")).as_deref(),
            Some("on CPU 1, 3, which are not isolated (CPUs 4-7 are)")
        );
        assert_eq!(isolated(Some("1-3")).as_deref(), Some("on CPU 1, 3, although isolated"));
        assert_eq!([isolated(Some("")), isolated(None)], [None, None], "no CPU is, or nothing is known");
    }

    #[test]
    fn a_governor_that_saves_power_is_named() {
        let of = |governors: &[(u32, &str)]| {
            let cpu = |&(cpu, governor): &(u32, &str)| MachineCpu {
                cpu,
                governor: Some(governor.to_owned()),
                ..MachineCpu::default()
            };
            governor(&stays(), &Machine { cpus: governors.iter().map(cpu).collect(), ..Machine::default() })
        };
        let found = of(&[(1, "performance"), (2, "schedutil"), (3, "powersave")]);
        assert_eq!(found.as_deref(), Some("its CPU has the frequency governor powersave"));
        assert_eq!([of(&[(1, "performance"), (3, "performance")]), of(&[])], [None, None]);
    }
}
