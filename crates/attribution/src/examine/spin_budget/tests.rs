//! The expected time of a loop.

use model::{Cause, Certainty, Slower, Tsc, TscRange};

use super::SpinBudget;
use crate::claims::claim::Claim;
use crate::claims::partition::Piece;
use crate::claims::precedence::Rank;
use crate::examine::examined::Examined;
use crate::testing::script::interval;

#[test]
fn as_long_as_a_baseline_is_as_expected() {
    let baselines = [vec![("a", 10), ("a", 20)], vec![("a", 50)]];
    let mut within = SpinBudget::new(&[("a", 25), ("a", 25)], &baselines);
    assert_eq!((within.expected("a", 25), within.expected("a", 25)), (25, 25));
    // Beyond: the mean of 30 and 50, used up over the pieces.
    let mut beyond = SpinBudget::new(&[("a", 30), ("a", 30), ("b", 5)], &baselines);
    assert_eq!((beyond.expected("a", 30), beyond.expected("a", 30), beyond.expected("b", 5)), (30, 10, 0));
    assert_eq!(SpinBudget::new(&[("a", 7)], &[]).expected("a", 7), 0);
}

/// In the loop for 900 ticks, 50 in the baseline: 17 iterations where the baseline had ten, or 18.
#[test]
fn a_loop_that_looked_as_often_as_usual_was_slow_and_waited_for_nobody() {
    let spinning = |ticks: u64, rounds: u64| {
        let mut claim =
            Claim::new(TscRange::new(Tsc(0), Tsc(ticks)), Rank::Spin, Cause::UserSpin, Certainty::Decoded);
        claim.say("loop");
        let mut examined = Examined::empty(interval(0..ticks));
        examined.pieces = vec![Piece { range: claim.range(), claim: Some(0) }];
        examined.claims = vec![claim];
        examined.rounds = [("loop".to_owned(), rounds)].into();
        examined
    };
    let usual = spinning(50, 10);
    let excess = |rounds| SpinBudget::of(&spinning(900, rounds), &[&usual]).excess("loop");
    assert_eq!((excess(17), excess(18)), (Cause::UserSlower(Slower::Other), Cause::UserSpin));
    // In either case: the mean is expected, and of the slow time as much as the rest of the interval was faster.
    let mut budget = SpinBudget::of(&spinning(900, 17), &[&usual]);
    assert_eq!((budget.total(), budget.slow()), (50, 850));
    budget.keep_slow(600);
    assert_eq!((budget.expected("loop", 900), budget.slow()), (300, 600));
}
