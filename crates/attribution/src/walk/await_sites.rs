//! What the last poll of a task was at when it was pending: the futures of a runtime's that it had polled, the last one first.
//!
//! Input: runs of user code in order of time, up to the task's `await` marker. Output: [`AwaitSite`]s: what each future is for,
//! and the function of the program that awaits it.

use crate::tables::libraries::{called, is_library, spoken};
use crate::tables::task_wakers::{Awaited, polled};
use crate::walk::activity::Run;
use crate::walk::user_code::{NodeKey, UserCode};

/// How many different functions are looked at, the last ones.
const MOST_NODES: usize = 64;

/// A future that a poll passed through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AwaitSite {
    /// What it is for.
    pub(crate) awaited: Awaited,
    /// The program's function that polled it, as `back_off()`; empty where none is known.
    pub(crate) place: String,
}

/// Those that `runs` passed through, the last one first, each once.
pub(crate) fn await_sites(code: &UserCode, runs: &[Run]) -> Vec<AwaitSite> {
    let mut nodes: Vec<NodeKey> = Vec::new();
    let mut sites: Vec<AwaitSite> = Vec::new();
    for run in runs.iter().rev() {
        if nodes.len() == MOST_NODES {
            break;
        }
        if nodes.contains(&run.node) {
            continue;
        }
        nodes.push(run.node);
        if let Some(site) = site_of(code, run.node)
            && !sites.contains(&site)
        {
            sites.push(site);
        }
    }
    sites
}

fn site_of(code: &UserCode, node: NodeKey) -> Option<AwaitSite> {
    let mut functions = Vec::new();
    let mut place = String::new();
    for (_, node) in code.lineage(node) {
        let name = spoken(node.name());
        if !node.library && !is_library(&name) {
            place = called(async_function(&name));
            break;
        }
        functions.push(name);
    }
    Some(AwaitSite { awaited: polled(&functions)?, place })
}

/// The function of Rust's whose body `name` is, a closure of it.
fn async_function(name: &str) -> &str {
    let mut function = name;
    while let Some((outer, last)) = function.rsplit_once("::")
        && last.starts_with('{')
        && last.contains("closure")
    {
        function = outer;
    }
    function
}

#[cfg(test)]
mod tests;
