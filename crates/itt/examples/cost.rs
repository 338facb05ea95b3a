//! What a pair of ITT calls costs: batches that fit the buffer, with pauses in which they are written.
//!
//!     cargo build --release -p tailtrace-itt --lib --example cost
//!     target/release/examples/cost                                                                   without a collector
//!     INTEL_LIBITTNOTIFY64=$PWD/target/release/libtailtrace_itt.so target/release/examples/cost      with this one
//!
//! Prints nanoseconds per pair of tasks, of 200 batches the best and the middle one; then those of overlapped tasks, and of twice the
//! bare RDTSC.

#![allow(unsafe_code, reason = "the API's functions are pointers")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use ittapi_sys as itt;

const BATCHES: usize = 200;
const PAIRS: u64 = 2000;
const NO_ID: itt::__itt_id = itt::__itt_id { d1: 0, d2: 0, d3: 0 };

#[allow(clippy::cast_precision_loss)]
fn batch(mut pair: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for key in 0..PAIRS {
        pair(key);
    }
    start.elapsed().as_nanos() as f64 / PAIRS as f64
}

#[derive(Clone, Copy)]
struct Handles {
    domain: *mut itt::__itt_domain,
    name: *mut itt::__itt_string_handle,
}

impl Handles {
    fn new() -> Handles {
        let text = c"cost".as_ptr();
        // SAFETY: a text that stays.
        unsafe {
            let domain =
                itt::__itt_domain_create_ptr__3_0.map_or(std::ptr::null_mut(), |create| create(text));
            let name =
                itt::__itt_string_handle_create_ptr__3_0.map_or(std::ptr::null_mut(), |create| create(text));
            Handles { domain, name }
        }
    }
}

/// As the API's macros call the pointers.
fn task(Handles { domain, name }: Handles, id: itt::__itt_id) {
    // SAFETY: handles of the same library.
    unsafe {
        if let Some(begin) = black_box(itt::__itt_task_begin_ptr__3_0) {
            begin(domain, id, NO_ID, name);
        }
        if let Some(end) = black_box(itt::__itt_task_end_ptr__3_0) {
            end(domain);
        }
    }
}

fn overlapped(Handles { domain, name }: Handles, id: itt::__itt_id) {
    // SAFETY: as above.
    unsafe {
        if let Some(begin) = black_box(itt::__itt_task_begin_overlapped_ptr__3_0) {
            begin(domain, id, NO_ID, name);
        }
        if let Some(end) = black_box(itt::__itt_task_end_overlapped_ptr__3_0) {
            end(domain, id);
        }
    }
}

fn main() {
    let handles = Handles::new();
    task(handles, NO_ID);
    // Those of the collector: the first call loaded it.
    let handles = if std::env::var_os("INTEL_LIBITTNOTIFY64").is_some() { Handles::new() } else { handles };
    let id = |key| itt::__itt_id { d2: 1 + key, ..NO_ID };
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..BATCHES {
        times[0].push(batch(|key| task(handles, id(key))));
        std::thread::sleep(Duration::from_millis(4));
        times[1].push(batch(|key| overlapped(handles, id(key))));
        std::thread::sleep(Duration::from_millis(4));
        times[2].push(batch(|_| {
            black_box(marks::tsc());
            black_box(marks::tsc());
        }));
    }
    for (what, mut times) in ["tasks", "overlapped tasks", "rdtsc alone"].into_iter().zip(times) {
        times.sort_by(f64::total_cmp);
        println!("{what}: best {:.1} ns, median {:.1} ns a pair", times[0], times[BATCHES / 2]);
    }
}
