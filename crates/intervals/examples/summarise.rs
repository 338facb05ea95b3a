//! Prints the statistics of an interval file with TSC times, in ticks, and how long that took.
//!
//!     cargo run --release -p tailtrace-intervals --example summarise -- intervals.csv

use std::path::Path;
use std::time::Instant;

use tailtrace_intervals::{Clocks, Population, Selection, baselines, read_interval_file};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name an interval file")?;
    let begun = Instant::now();
    let set = read_interval_file(Path::new(&path), &Clocks::default())?;
    let read = begun.elapsed();
    let population = Population::all(&set.intervals, None);
    let selection = Selection::default();
    let statistics = population.statistics(selection.outlier_rule());
    let selected = selection.select(&population);
    let judgement = population.judge(selection.outlier_rule());
    for &index in &selected.indices {
        let typical = baselines(&population, &judgement.is_outlier, index, 8);
        println!(
            "interval {}: {} ticks, compared with {typical:?}",
            set.intervals[index].id,
            set.intervals[index].range.ticks().0
        );
    }
    println!("{statistics:#?}\n{}", selected.rule);
    for diagnostic in &set.diagnostics {
        println!("{}: {} ({})", diagnostic.severity, diagnostic.what, diagnostic.place);
    }
    println!("read in {read:?}, all in {:?}", begun.elapsed());
    Ok(())
}
