//! Samples: of tracepoints and loads, where whoever is not named is the thread that runs, and reads of the counters.

use std::collections::BTreeMap;

use super::{Aside, Runner};
use crate::core_event::{COUNTED, CoreEvent, SAMPLED};
use crate::packet::Packet;
use crate::tracepoint::Tracepoint;

/// How a scenario names a thread, and what its fields begin with.
const ROLES: [(&str, &str); 3] = [("thread", ""), ("prev", "prev_"), ("next", "next_")];

impl Runner<'_> {
    /// A load is sampled on CPU `number`.
    pub(super) fn access(&mut self, number: usize, data: [u64; 3]) -> Result<(), String> {
        let cpu = &self.cpus[number];
        let thread = cpu.thread.ok_or("say first who `runs` here")?;
        let ip = cpu.ip.unwrap_or_default();
        self.aside(number, Aside::Access { thread, ip, data });
        Ok(())
    }

    /// A tracepoint is met on CPU `number`.
    pub(super) fn record(
        &mut self,
        number: usize,
        point: &'static Tracepoint,
        values: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        let (thread, ip) = self.running(number)?;
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
        let flags = self.cpus[number].serving.flags_at(point.name);
        let raw = point.raw(self.scenario.threads[thread].tid, flags, &values)?;
        self.aside(number, Aside::Sample { point, thread, ip, raw });
        Ok(())
    }

    /// PEBS writes a record of the next instruction on CPU `number` into the trace. Source: the SDM's tables of PEBS groups: type 4 has the
    /// address, the counters and the time, type 5 the data's address, its source, the latency.
    pub(super) fn pebs(
        &mut self,
        number: usize,
        event: &'static CoreEvent,
        memory: Option<(u64, u64)>,
    ) -> Result<(), String> {
        const COUNTER: u64 = 1;
        let (_, ip) = self.running(number)?;
        let cpu = &mut self.cpus[number];
        let tsc = cpu.tsc;
        let block = |kind, items: &[(u8, u64)]| {
            let narrow = false;
            let items = items.iter().map(move |&(id, payload)| Packet::Bip { id, payload, narrow });
            [Packet::Bbp { kind, narrow }].into_iter().chain(items).collect::<Vec<_>>()
        };
        let mut packets = block(4, &[(0, ip), (1, COUNTER), (2, tsc)]);
        if let Some((address, latency)) = memory {
            packets.extend(block(5, &[(0, address), (1, 0), (2, latency)]));
        }
        packets.push(Packet::Bep { fup: false });
        for packet in packets {
            cpu.buffer.encoder.event(tsc, packet, None);
        }
        self.aside(number, Aside::Traced { event });
        Ok(())
    }

    /// The group of counters is read on CPU `number`, so much further on than last time.
    pub(super) fn read(&mut self, number: usize, counts: &[u64; COUNTED]) -> Result<(), String> {
        let (thread, ip) = self.running(number)?;
        let owner = if self.scenario.machine.per_thread { thread } else { number };
        let totals = &mut self.counts[owner];
        for (total, count) in totals.iter_mut().zip(counts) {
            *total = total.checked_add(*count).ok_or("a counter has 64 bits")?;
        }
        let (period, totals) = (counts[SAMPLED], Box::new(*totals));
        self.aside(number, Aside::Counted { thread, ip, period, totals });
        Ok(())
    }

    /// The thread on CPU `number`, and its next instruction.
    pub(super) fn running(&self, number: usize) -> Result<(usize, u64), String> {
        let cpu = &self.cpus[number];
        Ok((cpu.thread.ok_or("say first who `runs` here")?, cpu.ip.unwrap_or_default()))
    }
}
