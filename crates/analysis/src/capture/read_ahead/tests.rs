use super::*;

#[test]
fn readers_stay_near_the_work() {
    let pace = Pace::default();
    assert!(pace.wait_for(AHEAD - 1));
    thread::scope(|scope| {
        let far = scope.spawn(|| pace.wait_for(AHEAD + 1));
        pace.finished();
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
