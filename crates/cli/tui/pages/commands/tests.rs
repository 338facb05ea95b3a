use super::*;
use crate::tui::app::state::State;
use crate::tui::testing::sample::{after, args};

const SIZE: (u16, u16) = (80, 24);

fn lines(state: &State) -> Vec<String> {
    of(&state.view).into_iter().map(|command| command.line).collect()
}

#[test]
fn the_population_repeats_the_choice() {
    let explain = |more: &[&str]| tailtrace(&args(more), "explain", Choice::AsGiven).line();
    let common = "tailtrace explain -i perf.data --intervals i.csv";
    assert_eq!(
        explain(&["--top", "3", "--label", "order,q x"]),
        format!("{common} --label 'order,q x' --top 3")
    );
    assert_eq!(explain(&["--over", "50us", "--slow-mode"]), format!("{common} --over 50us --slow-mode"));
    assert_eq!(explain(&["--baselines", "4", "--tid", "1,2"]), format!("{common} --tid 1,2 --baselines 4"));
    assert_eq!(explain(&["--same-path", "--tid", "1"]), format!("{common} --tid 1 --same-path"));
}

#[test]
fn an_interval_is_named_by_its_id() {
    let expected = [
        "tailtrace explain -i perf.data --symfs 'sym fs' --intervals i.csv --id 23",
        "perf script -i perf.data --time 0.558227805,0.559396507 -C 1 --itrace=be --ns",
        "tailtrace explain -i perf.data --symfs 'sym fs' --intervals i.csv --id 23 --format markdown",
        "tailtrace explain -i perf.data --symfs 'sym fs' --intervals i.csv --id 23 --html interval-23.html",
    ];
    assert_eq!(lines(&after(SIZE, "\n\n")), expected);
}

/// The block first ran 6 ns after 0.558227805 and took 16000 ns; perf's ranges include their end.
#[test]
fn a_block_is_shown_by_its_time() {
    let line = &lines(&after(SIZE, "\n\n4↑↑\n"))[0];
    let expected =
        "perf script -i perf.data --time 0.558227811,0.558243812 -C 1 --itrace=i0nse --ns --symfs 'sym fs'";
    assert_eq!(line, expected);
}
