//! A report that explains all intervals of its population.

use tailtrace_report::{Composition, Constituents};

use super::*;

/// [`several`], with 100 intervals by cause: 95 of 11 us; and five that waited for a lock, 100 to 500 us more, in which `grow` was
/// entered, too. One begins each 10 us.
pub fn composed() -> Report {
    Report { composition: Some(Composition::of(intervals(), 100)), ..several() }
}

fn intervals() -> Vec<Constituents> {
    let usual = [("user.expected", 10_000), ("kernel.page-fault.minor", 1_000)];
    let waited = |n: u64| if n % 20 == 10 { Some(("offcpu.lock", (n / 20 + 1) * 100_000)) } else { None };
    let interval = |n: u64| {
        let causes = usual.into_iter().chain(waited(n)).map(|(cause, time)| (cause.to_owned(), time));
        let also = waited(n).map(|_| "grow".into());
        Constituents::of_causes(causes)
            .starting(n * 10_000)
            .entering(["find".into(), "put".into()].into_iter().chain(also))
    };
    (0..100).map(interval).collect()
}

/// Hostile names of causes and functions.
pub(super) fn make_hostile(report: &mut Report, mut next: impl FnMut() -> String) {
    let interval = |n: u64| {
        let causes = [(next(), 1_000), (next(), n * 1_000)];
        Constituents::of_causes(causes).starting(n).entering([next().into(), next().into()])
    };
    report.composition = Some(Composition::of((0..100).map(interval).collect(), 100));
}
