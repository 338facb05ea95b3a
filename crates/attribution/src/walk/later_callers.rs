//! Who called the code that a thread left its CPU in, where only the flow after that shows it.
//!
//! Input: when the thread leaves, and the places to which user code returned afterwards without a known call. Output: these callers on the
//! paths of the departures before. A thread that slept before the window begins is found in the kernel; after its sleep it returns through
//! all who called.

use model::Pid;

use super::call_path::CallPath;
use crate::inputs::functions::Functions;

/// How many callers are added to a path.
const MOST: usize = 16;

/// A path, by its number, and the calls that returns showed on it, innermost first.
struct Departure {
    path: usize,
    calls: Vec<u64>,
}

/// See the module.
#[derive(Default)]
pub(super) struct LaterCallers {
    /// Whose outermost function may still return.
    open: Vec<Departure>,
    done: Vec<Departure>,
}

impl LaterCallers {
    /// The thread leaves its CPU, which is the path of this number.
    pub(super) fn leave(&mut self, path: usize) {
        self.open.push(Departure { path, calls: Vec::new() });
    }

    /// The outermost known function returned to `ip`, or the kernel did to code of which nothing is known.
    pub(super) fn return_to(&mut self, ip: u64) {
        for departure in &mut self.open {
            departure.calls.push(ip.wrapping_sub(1));
        }
        let full = |departure: &mut Departure| departure.calls.len() >= MOST;
        self.done.extend(self.open.extract_if(.., full));
    }

    /// What runs next is on another stack, or the trace has a hole.
    pub(super) fn forget(&mut self) {
        self.done.append(&mut self.open);
    }

    /// Adds the callers to `paths`.
    pub(super) fn tell(mut self, paths: &mut [CallPath], pid: Pid, functions: &dyn Functions) {
        self.forget();
        for Departure { path, calls } in self.done {
            let Some(path) = paths.get_mut(path).filter(|_| !calls.is_empty()) else { continue };
            let mut user = CallPath::of(calls.into_iter().rev(), pid, path.at, functions).user;
            if user.last().map(|site| &site.function) == path.user.first().map(|site| &site.function) {
                user.pop();
            }
            path.user.splice(..0, user);
        }
    }
}
