//! Samples of tracepoints: whoever is not named is the thread that runs.

use std::collections::BTreeMap;

use super::{Aside, Runner};
use crate::tracepoint::Tracepoint;

/// How a scenario names a thread, and what the fields that tell it begin with.
const ROLES: [(&str, &str); 3] = [("thread", ""), ("prev", "prev_"), ("next", "next_")];

impl Runner<'_> {
    /// A tracepoint is met on CPU `number`.
    pub(super) fn record(
        &mut self,
        number: usize,
        point: &'static Tracepoint,
        values: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        let cpu = &self.cpus[number];
        let thread = cpu.thread.ok_or("say first who `runs` here")?;
        let ip = cpu.ip.unwrap_or_default();
        let mut values = values.clone();
        for (role, prefix) in ROLES {
            let named = values.remove(role).map(|name| self.thread(&name)).transpose()?;
            let own = prefix == "prev_" || (prefix.is_empty() && !point.has("pid"));
            let Some(meant) = named.or(own.then_some(thread)) else { continue };
            let meant = &self.scenario.threads[meant];
            for (field, value) in [("comm", meant.comm.clone()), ("pid", meant.tid.to_string())] {
                let field = format!("{prefix}{field}");
                if point.has(&field) {
                    values.entry(field).or_insert(value);
                }
            }
        }
        if point.has("cpu_id") {
            values.entry("cpu_id".to_owned()).or_insert(number.to_string());
        }
        let raw = point.raw(self.scenario.threads[thread].tid, &values)?;
        self.aside(number, Aside::Sample { point, thread, ip, raw });
        Ok(())
    }
}
