//! Reports with call trees, made by hand.

use model::{CallLayer, CallNode, CallStretch, Calls};

use super::*;

fn tree(names: &[(Option<u32>, &str)], stretches: &[(u64, u64, u32)]) -> Calls {
    Calls {
        nodes: names
            .iter()
            .map(|&(parent, name)| CallNode { parent, name: name.into(), layer: CallLayer::User })
            .collect(),
        stretches: stretches
            .iter()
            .map(|&(start, stop, node)| CallStretch {
                range: TscRange::new(Tsc(start), Tsc(stop)),
                node,
                calls: 1,
            })
            .collect(),
    }
}

/// [`page_faults`] with functions: of 80 us `main` has 10, `consume`, which it calls, 8, and `touch`, which that calls,
/// 62. The typical interval: `main` 3 us, `consume` 10, `idle` 3.
pub fn with_calls() -> Report {
    let names = [(None, "main"), (Some(0), "consume"), (Some(1), "touch")];
    let stretches = [
        (1_000_000, 1_010_000, 0),
        (1_010_000, 1_030_000, 2),
        (1_030_000, 1_032_000, 1),
        (1_032_000, 1_074_000, 2),
        (1_074_000, 1_080_000, 1),
    ];
    let typical = tree(
        &[(None, "main"), (Some(0), "consume"), (Some(0), "idle")],
        &[(0, 3_000, 0), (3_000, 13_000, 1), (13_000, 16_000, 2)],
    );
    let mut report = page_faults();
    let range = TscRange::new(Tsc(1_000_000), Tsc(1_080_000));
    let outlier = report.outliers.remove(0);
    report.outliers.push(outlier.with_calls(&tree(&names, &stretches), &[typical], range, one_to_one()));
    report
}

/// Twenty outliers, each of 1 600 segments.
pub fn twenty() -> Report {
    let mut report = with_calls();
    let outlier = report.outliers.remove(0);
    for id in 0..20 {
        let mut outlier = outlier.clone();
        outlier.id = id;
        let part = outlier.duration_ns;
        let pieces = outlier.segments.clone();
        for round in 1..180 {
            outlier.segments.extend(pieces.iter().cloned().map(|mut segment| {
                segment.offset_ns += round * part;
                segment.detail = format!("{} in round {round} of {id}", segment.detail);
                segment
            }));
        }
        outlier.duration_ns = part * 180;
        report.outliers.push(outlier);
    }
    report.selection.selected = 20;
    report
}

/// [`hostile`] with functions of such names, and one of 10 MB.
pub fn hostile_with_calls() -> Report {
    let long = "B".repeat(10_000_000);
    let names: Vec<(Option<u32>, &str)> = HOSTILE
        .iter()
        .copied()
        .chain([&*long])
        .enumerate()
        .map(|(at, name)| (u32::try_from(at).expect("few").checked_sub(1), name))
        .collect();
    let stretches: Vec<(u64, u64, u32)> =
        (0..13).map(|at| (at * 1000, at * 1000 + 1000, u32::try_from(at).expect("few"))).collect();
    let calls = tree(&names, &stretches);
    let mut report = hostile();
    let range = TscRange::new(Tsc(0), Tsc(1_200_000));
    for outlier in &mut report.outliers {
        *outlier = outlier.clone().with_calls(&calls, std::slice::from_ref(&calls), range, one_to_one());
    }
    report
}
