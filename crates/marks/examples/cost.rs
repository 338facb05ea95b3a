//! What a mark costs: batches that fit the buffer, with pauses in which they are written; as `fixtures/programs/mark_cost.c`
//! measures those of the C header.
//!
//! Prints nanoseconds per mark, of 200 batches the best and the middle one, and for comparison those of the bare RDTSC.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tailtrace_marks as marks;

const BATCHES: u64 = 200;
const PAIRS: u64 = 2000;

#[allow(clippy::cast_precision_loss)]
fn batch(mut pair: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for key in 0..PAIRS {
        pair(key);
    }
    start.elapsed().as_nanos() as f64 / (2 * PAIRS) as f64
}

fn sorted(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    times
}

fn main() -> std::io::Result<()> {
    marks::open_default()?;
    marks::thread();
    let (mut pairs, mut clocks) = (Vec::new(), Vec::new());
    for first in (0..BATCHES).map(|batch| batch * PAIRS) {
        pairs.push(batch(|key| {
            marks::begin(c"cost", first + key);
            marks::end(c"cost", first + key);
        }));
        clocks.push(batch(|_| {
            black_box(marks::tsc());
            black_box(marks::tsc());
        }));
        std::thread::sleep(Duration::from_millis(4));
    }
    marks::close()?;
    let (pairs, clocks) = (sorted(pairs), sorted(clocks));
    let middle = pairs.len() / 2;
    println!(
        "mark: best {:.1} ns, median {:.1} ns; rdtsc alone: best {:.1} ns, median {:.1} ns",
        pairs[0], pairs[middle], clocks[0], clocks[middle]
    );
    Ok(())
}
