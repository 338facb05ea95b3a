//! A Rust program with ITT tasks, and the marks of `tailtrace-marks` beside them: each interval of the one lies within the other's of the same
//! order. For `tests/programs.rs`. Argument: the file of the marks.

use std::ffi::CStr;
use std::thread;
use std::time::Duration;

use ittapi::{Domain, Task};

const TASKS: u64 = 1000;

fn work() {
    let domain = Domain::new("requests");
    for key in 0..TASKS {
        let _order = marks::interval(c"order", marks::NO_KEY);
        let _task = Task::begin(&domain, "order");
        if key % 10 == 0 {
            let _step = marks::interval(c"step", marks::NO_KEY);
            let _task = Task::begin(&domain, "step");
            thread::sleep(Duration::from_micros(10));
        }
    }
}

fn main() -> std::io::Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_default();
    marks::open(path)?;
    let threads = [c"one", c"two", c"three"].map(|name: &CStr| {
        let name = name.to_string_lossy().into_owned();
        thread::Builder::new().name(name).spawn(work)
    });
    for thread in threads {
        thread?.join().map_err(|_| std::io::Error::other("a thread panicked"))?;
    }
    marks::close()
}
