//! What is known of the machine adds to causes: that the CPU was not kept free, what chose its frequency, and what kind of core it has.
//!
//! Input: an outlier's report, where its thread was, the machine file, and the kinds of cores (perf.data's `HYBRID_TOPOLOGY`). Output:
//! words after the causes that they concern.

use std::collections::BTreeSet;

use attribution::{Stay, Whereabouts};
use model::{Cpu, CpuList};
use perfdata::{LeaveReason, Machine};
use report::OutlierReport;

/// The causes that another setting of the machine would have prevented.
const PREEMPTED: &str = "offcpu.preempted";
const SLOWER_CODE: &str = "user.slower.";
/// Units of efficiency cores, as the kernel names their counters (`arch/x86/events/intel/core.c`).
const SMALL: [&str; 2] = ["cpu_atom", "cpu_lowpower"];
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
        append(&mut total.detail, words);
    }
}

/// Adds, where the same code took longer, that it ran on efficiency cores; `units` are the kinds of cores and their CPUs, and `typical`
/// is where each typical interval's thread was.
pub(super) fn add_cores<'s>(
    report: &mut OutlierReport,
    stays: &[Stay],
    typical: impl Iterator<Item = &'s [Stay]>,
    units: &[(String, String)],
) {
    let Some(words) = small_cores(stays, typical, units) else { return };
    for total in report.causes.iter_mut().filter(|total| total.cause.starts_with(SLOWER_CODE)) {
        append(&mut total.detail, Some(words.clone()));
    }
}

fn append(detail: &mut String, words: Option<String>) {
    if let Some(words) = words {
        let separator = if detail.is_empty() { "" } else { "; " };
        detail.extend([separator, &words]);
    }
}

/// The efficiency cores on which it ran, and whether typical ones did, too.
fn small_cores<'s>(
    stays: &[Stay],
    typical: impl Iterator<Item = &'s [Stay]>,
    units: &[(String, String)],
) -> Option<String> {
    let lists: Vec<CpuList> = units
        .iter()
        .filter(|(unit, _)| SMALL.contains(&unit.as_str()))
        .filter_map(|(_, cpus)| CpuList::parse(cpus))
        .collect();
    let is_small = |cpu: &Cpu| lists.iter().any(|list| list.contains(*cpu));
    let ran =
        |stays: &[Stay]| -> BTreeSet<Cpu> { stays.iter().filter_map(|stay| stay.place.cpu()).collect() };
    let small: Vec<String> = ran(stays).iter().filter(|cpu| is_small(cpu)).map(ToString::to_string).collect();
    if small.is_empty() {
        return None;
    }
    let kind = if small.len() > 1 { "efficiency cores" } else { "an efficiency core" };
    let typical: Vec<BTreeSet<Cpu>> = typical.map(ran).collect();
    let others = match typical.iter().filter(|cpus| cpus.iter().any(is_small)).count() {
        _ if typical.is_empty() => String::new(),
        0 => ", and no typical one on such".to_owned(),
        count => format!(", as did {count} of {} typical ones", typical.len()),
    };
    Some(format!("it ran on CPU {}, {kind}{others}", small.join(", ")))
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

    /// By `HYBRID_TOPOLOGY` of a CPU with two performance cores and two efficiency cores: it ran on CPUs 1 and 3.
    #[test]
    fn efficiency_cores_are_named() {
        let units = |small: &str| {
            [("cpu_core", "0-1"), ("cpu_atom", small)].map(|(unit, cpus)| (unit.to_owned(), cpus.to_owned()))
        };
        let own = stays();
        let of = |small: &str, typical: &[&[Stay]]| small_cores(&own, typical.iter().copied(), &units(small));
        assert_eq!(of("2-3", &[]).as_deref(), Some("it ran on CPU 3, an efficiency core"));
        let elsewhere = [Stay { place: Whereabouts::OnCpu(Cpu(0)), ..own[0].clone() }];
        let words = of("2-3", &[&elsewhere]);
        assert_eq!(words.as_deref(), Some("it ran on CPU 3, an efficiency core, and no typical one on such"));
        let words = of("1-3", &[&elsewhere, &own]);
        assert_eq!(
            words.as_deref(),
            Some("it ran on CPU 1, 3, efficiency cores, as did 1 of 2 typical ones")
        );
        assert_eq!([of("4-5", &[&own]), of("", &[])], [None, None]);
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
