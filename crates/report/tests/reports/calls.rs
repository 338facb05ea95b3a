//! Reports with call trees, made by hand.

use model::{CallLayer, CallNode, CallStretch, Calls};
use tailtrace_report::{HotBlock, HotInstruction, HotRange, SourceLine, Spent};

use super::*;

fn tree(names: &[(Option<u32>, &str)], stretches: &[(u64, u64, u32)]) -> Calls {
    Calls {
        nodes: names
            .iter()
            .map(|&(parent, name)| CallNode {
                parent,
                name: name.into(),
                layer: CallLayer::User,
                recording: None,
            })
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

/// Twenty outliers, each of 1 600 segments, with as much code as the page holds.
pub fn twenty() -> Report {
    let mut report = with_code();
    let outlier = report.outliers.remove(0);
    for id in 0..20 {
        let mut outlier = outlier.clone();
        outlier.id = id;
        for (at, range) in outlier.code.iter_mut().enumerate() {
            let blocks = range.blocks.clone();
            range.blocks = (0..27u64).flat_map(|_| blocks.clone()).collect();
            for (number, one) in range.blocks.iter_mut().flat_map(|block| &mut block.instructions).enumerate()
            {
                one.address += (id << 32) + ((at * 1000 + number) as u64 * 4);
            }
        }
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

/// Two hundred outliers, those of [`twenty`] ten times.
pub fn two_hundred() -> Report {
    let mut report = twenty();
    let outliers = report.outliers.clone();
    for round in 1..10 {
        report.outliers.extend(outliers.iter().cloned().map(|mut outlier| {
            outlier.id += round * 20;
            outlier
        }));
    }
    report.selection.selected = 200;
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
        outlier.code = hostile_code(&long);
        outlier.machine = hostile_machine();
    }
    report
}

/// One instruction of [`with_code`].
fn instruction(address: u64, text: &str, line: u32, source: Option<&str>) -> HotInstruction {
    let file = "/build/engine/queue.c".to_owned();
    let line = Some(SourceLine { file, number: line, text: source.map(str::to_owned) });
    HotInstruction { address, text: text.to_owned(), line }
}

/// [`with_calls`] with two blocks of `touch`, three instructions each: the second one ran 96 times instead of twice.
pub fn with_code() -> Report {
    let mut report = with_calls();
    let block = |spent: (u64, u64, u64, u64), first: u64, source: Option<&str>| HotBlock {
        spent: Spent {
            duration_ns: spent.0,
            typical_ns: spent.1,
            cycles: Some(spent.0 * 3),
            typical_cycles: Some(spent.1 * 3),
            executions: spent.2,
            typical_executions: spent.3,
        },
        instructions: vec![
            instruction(first, "movq (%rdi), %rax", 88, source),
            instruction(first + 3, "addq $8, %rdi", 88, source),
            instruction(first + 7, "jne 0x401a30", 89, source.map(|_| "    while (at < end)")),
        ],
    };
    let blocks = vec![
        block((2_000, 1_900, 1, 1), 0x40_1a30, Some("    sum += *at++; // <b>")),
        block((60_000, 600, 96, 2), 0x40_1a40, None),
    ];
    let spent = blocks.iter().map(|block| block.spent).reduce(Spent::and).expect("two blocks");
    let range = HotRange {
        function: "touch".to_owned(),
        dso: "/opt/engine/bin/engine".to_owned(),
        spent,
        blocks,
        left_out: 7,
    };
    let rest = HotRange {
        function: "its_return_thunk".to_owned(),
        dso: "[kernel.kallsyms]".to_owned(),
        ..range.clone()
    };
    report.outliers[0].code = vec![range, rest];
    report
}

/// Names and lines of hostile code.
fn hostile_code(long: &str) -> Vec<HotRange> {
    let mut texts = HOSTILE.iter().copied().chain([long]).cycle();
    let mut next = || texts.next().expect("endless").to_owned();
    let mut code = with_code().outliers.remove(0).code;
    for range in &mut code {
        (range.function, range.dso) = (next(), next());
        for one in range.blocks.iter_mut().flat_map(|block| &mut block.instructions) {
            one.text = next();
            one.line = Some(SourceLine { file: next(), number: u32::MAX, text: Some(next()) });
        }
    }
    code
}
