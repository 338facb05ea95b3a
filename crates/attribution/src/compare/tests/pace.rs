//! Code that ran slower.

use super::*;

/// Without a CBR packet: `work` takes 1,000 ticks at 2.5 GHz, then 2,000: half of them at 2.5 GHz, half at 1.25. So a
/// quarter, 500, is due to that, and 500 more to an unknown reason.
#[test]
fn what_a_governor_asked_for_explains_its_part() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    script
        .block(0, "work", 0, BlockEnd::Jump)
        .block(1_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn)
        .block(10_000, "work", 0, BlockEnd::Jump)
        .block(12_000, "entry_SYSCALL_64", 0, BlockEnd::FarReturn);
    let world = world(&table, script.items.clone(), 20_000);
    let (mut baseline, mut outlier) = (world.examine(0..1_000), world.examine(10_000..12_000));
    let asked = |start: u64, stop: u64, khz: u32| RequestedFrequency {
        range: TscRange::new(model::Tsc(start), model::Tsc(stop)),
        cpu: Cpu(0),
        khz,
        record: FileOffset(start),
    };
    baseline.asked = vec![asked(0, 1_000, 2_500_000)];
    outlier.asked = vec![asked(10_000, 11_000, 2_500_000), asked(11_000, 12_000, 1_250_000)];
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    let story: Vec<(String, u64)> = told(&attribution);
    let named = |cause: &str, ticks| (cause.to_owned(), ticks);
    assert_eq!(
        story,
        [named("user.expected", 1_000), named("user.slower.frequency", 500), named("user.slower.other", 500)]
    );
    let slower = &attribution.segments()[1];
    let said = "1.875 GHz requested by the governor (cpu_frequency), typical 2.500 GHz";
    assert_eq!(slower.detail.split("; ").last(), Some(said));
    assert_eq!(slower.certainty, Certainty::Inferred);
    let record = slower.evidence.iter().find_map(|evidence| evidence.file_offset);
    assert_eq!(record, Some(FileOffset(11_000)), "{:?}", slower.evidence);
    let of_other = &attribution.segments()[2].evidence;
    assert!(of_other.iter().all(|evidence| evidence.file_offset.is_none()), "{of_other:?}");
    // The ratio of a CBR packet is not overruled: the baseline's is unknown.
    for run in &mut outlier.runs {
        run.ratio = 25;
    }
    let attribution = attribute(&outlier, &[&baseline], &table).expect("a partition");
    assert_eq!(told(&attribution), [named("user.expected", 1_000), named("user.slower.other", 1_000)]);
}

/// Of three baselines one ran at half the ratio of 26, and it alone has time in `copy`. An interval at a ratio of 10 loses 16 of 26
/// parts of its 2,600 ticks, and of the 260 in `copy`, also beside those baselines alone in which no time packet came in `copy`.
#[test]
fn one_baseline_on_a_slow_core_does_not_change_how_fast_it_usually_is() {
    let table = Table::new(KERNEL, USER);
    let mut script = Script::new(&table);
    for (at, ratio, work, copy) in
        [(0, 26, 1_000, 0), (5_000, 26, 1_000, 0), (10_000, 13, 2_000, 100), (15_000, 10, 2_600, 260)]
    {
        script
            .event(at, EventKind::CoreBusRatio { ratio })
            .block(at, "work", 0x20, BlockEnd::Call)
            .block(at + work / 2, "copy", 0, BlockEnd::Return)
            .block(at + work / 2 + copy, "work", 0x20 + Script::AFTER, BlockEnd::Jump)
            .block(at + work + copy, "entry_SYSCALL_64", 0, BlockEnd::FarReturn);
    }
    let world = world(&table, script.items.clone(), 20_000);
    let baselines = [world.examine(0..1_000), world.examine(5_000..6_000), world.examine(10_000..12_100)];
    let outlier = world.examine(15_000..17_860);
    for baselines in [&baselines[..], &baselines[..2]] {
        let attribution =
            attribute(&outlier, &baselines.iter().collect::<Vec<_>>(), &table).expect("a partition");
        let unexpected = unexpected(&attribution);
        let of_frequency = unexpected.iter().filter(|one| one.0 == "user.slower.frequency");
        assert_eq!(of_frequency.map(|one| one.1).sum::<u64>(), 1_600 + 160, "{unexpected:?}");
    }
}
