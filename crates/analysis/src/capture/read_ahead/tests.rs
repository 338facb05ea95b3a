use super::*;

#[test]
fn readers_stay_near_the_work() {
    let pace = Pace::default();
    assert!(pace.wait_for(AHEAD - 1));
    thread::scope(|scope| {
        let far = scope.spawn(|| pace.wait_for(AHEAD + STRIDE - 1));
        (1..STRIDE).for_each(|_| pace.finished());
        assert!(!far.is_finished());
        pace.finished();
        assert_eq!(far.join().ok(), Some(true));
    });
}

#[test]
fn readers_end_with_the_work() {
    let pace = Pace::default();
    thread::scope(|scope| {
        let far = scope.spawn(|| pace.wait_for(1_000_000));
        drop(EndsReaders(&pace));
        assert_eq!(far.join().ok(), Some(false));
    });
    assert!(!pace.wait_for(0));
}

#[test]
fn few_are_looked_at_once_all_are_in_memory() {
    let pace = Pace::default();
    (0..CACHED_RUN).for_each(|_| pace.found(true));
    let looked_at = |pace: &Pace| (0..160).filter(|&task| pace.is_worth_it(task)).count();
    assert_eq!(looked_at(&pace), 10);
    pace.found(false);
    assert_eq!(looked_at(&pace), 160);
}
