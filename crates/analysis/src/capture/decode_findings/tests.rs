use super::*;

fn ignored(aux_offset: u64) -> DecodeStats {
    let mut stats = DecodeStats::default();
    stats.ignored_times = 1;
    stats.first_ignored_time = Some(aux_offset);
    stats
}

#[test]
fn the_order_is_that_of_the_places_and_each_comes_once() {
    let findings = DecodeFindings::default();
    for (cpu, offset) in [(1, 5), (0, 9), (1, 5), (0, 2)] {
        findings.window(Some(Cpu(cpu)), &ignored(offset));
    }
    let places: Vec<_> =
        findings.take(false).into_iter().map(|found| (found.place.cpu, found.place.aux_offset)).collect();
    let expected = [(0, 2), (0, 9), (1, 5)].map(|(cpu, at)| (Some(Cpu(cpu)), Some(at)));
    assert_eq!(places, expected);
    assert!(findings.take(false).is_empty(), "taken once");
}

#[test]
fn more_than_a_screen_of_them_are_counted() {
    let findings = DecodeFindings::default();
    for offset in 0..100 {
        findings.window(Some(Cpu(0)), &ignored(offset));
    }
    let told = findings.take(false);
    assert_eq!(told.len(), 21);
    assert!(told[20].what.starts_with("80 more"), "{}", told[20].what);
}

#[test]
fn a_window_that_was_cut_short_is_told() {
    let findings = DecodeFindings::default();
    let mut stats = DecodeStats::default();
    findings.window(Some(Cpu(3)), &stats);
    stats.limited = true;
    findings.window(Some(Cpu(3)), &stats);
    assert_eq!(findings.take(false).len(), 1);
}
