//! The records that the kernel writes while the scenario runs: switches, samples, losses, AUX, pokes.
//!
//! Input: what happened beside the trace, and the buffers. Output: records with their perf time, and AUXTRACE records with bytes.
//! Per thread they are those of the thread's own events, as `perf record --per-thread --switch-events --timestamp --sample-cpu`
//! writes them (without the CPU perf 6.1 refuses its own switch records): a switch does not name the other thread.

use super::{PT, SIDEBAND, Writer};
use crate::container::{Origin, Record};
use crate::core_event::SAMPLED;
use crate::scenario::execution::{Aside, Copied, Finished, Owner};
use crate::scenario::program::Ring;
use crate::scenario::write::aux::{AuxPiece, pieces};

/// Of samples with a piece of the trace: the number of their event.
const SAMPLING: u32 = 2;

impl<'a> Writer<'a> {
    /// The origin of a record that `event` writes of `thread` on `cpu`.
    fn origin(&self, event: u32, thread: usize, cpu: u32, tsc: u64) -> Origin {
        let thread = &self.scenario.threads[thread];
        let time = self.scenario.machine.nanoseconds(tsc);
        let owner =
            if self.scenario.machine.per_thread { Owner::Thread(thread.tid) } else { Owner::Cpu(cpu) };
        let place = self.executed.buffers.iter().position(|buffer| buffer.owner == owner);
        let id = self.id(event, place.unwrap_or_default());
        Origin { pid: thread.pid, tid: thread.tid, time, cpu, id }
    }

    fn put(&mut self, record: Record, origin: Origin) {
        self.timed.push((origin.time, record));
    }

    pub(super) fn put_asides(&mut self) {
        let executed = self.executed;
        for (cpu, asides) in (0..).zip(&executed.asides) {
            for (tsc, aside) in asides {
                self.put_aside(cpu, *tsc, aside);
            }
        }
    }

    fn put_aside(&mut self, cpu: u32, tsc: u64, aside: &Aside) {
        match *aside {
            Aside::TraceStart(thread) => {
                let origin = self.origin(PT, thread, cpu, tsc);
                self.put(Record::itrace_start(origin), origin);
            }
            Aside::Switch { from, to, preempt } => self.put_switch((cpu, tsc), (from, to), preempt),
            Aside::Lost { count, thread } => {
                let of = self.origin(PT, thread.unwrap_or_default(), cpu, tsc);
                // A CPU's ring belongs to no thread.
                let nobody = Origin { pid: 0, tid: 0, ..of };
                let origin = if self.scenario.machine.per_thread { of } else { nobody };
                self.put(Record::lost(count, origin), origin);
            }
            Aside::Access { thread, ip, data } => {
                let origin = self.origin(self.accesses(), thread, cpu, tsc);
                self.put(Record::access(ip, data, origin), origin);
            }
            Aside::Sample { point, thread, ip, ref raw } => {
                let event = self.points.iter().position(|used| *used == point).unwrap_or_default();
                let origin = self.origin(self.first_point() + event as u32, thread, cpu, tsc);
                let record = match self.scenario.group(thread) {
                    Some(group) => Record::sample_in_group(ip, raw, group, origin),
                    None => Record::sample(ip, raw, origin),
                };
                self.put(record, origin);
            }
            Aside::Precise { event, thread, ip, period, weight } => {
                let event = self.precise.iter().position(|used| *used == event).unwrap_or_default();
                let origin = self.origin(self.first_precise() + event as u32, thread, cpu, tsc);
                self.put(Record::precise(ip, period, weight, origin), origin);
            }
            // Its record is in the trace.
            Aside::Traced { .. } => {}
            Aside::Counted { thread, ip, period, ref totals } => {
                let members: Vec<(u64, u64)> = (self.first_counted()..)
                    .zip(&self.counted)
                    .map(|(event, &place)| (totals[place], self.origin(event, thread, cpu, tsc).id))
                    .collect();
                let sampled = self.first_counted() + SAMPLED as u32;
                let origin = self.origin(sampled, thread, cpu, tsc);
                self.put(Record::counted(ip, period, &members, origin), origin);
            }
        }
    }

    /// `from` leaves the CPU to `to`. Per thread each describes itself, if it is traced.
    fn put_switch(&mut self, (cpu, tsc): (u32, u64), (from, to): (usize, usize), preempt: bool) {
        let (leaving, coming) = (self.origin(SIDEBAND, from, cpu, tsc), self.origin(SIDEBAND, to, cpu, tsc));
        if !self.scenario.machine.per_thread {
            self.put(Record::switch_out((coming.pid, coming.tid), preempt, leaving), leaving);
            self.put(Record::switch_in((leaving.pid, leaving.tid), coming), coming);
            return;
        }
        for (out, origin) in [(true, leaving), (false, coming)] {
            if origin.pid != 0 {
                self.put(Record::switch(out, out && preempt, origin), origin);
            }
        }
    }

    /// AUX records, and AUXTRACE records with their bytes; or samples with a piece of the trace each.
    pub(super) fn put_aux(&mut self) -> Vec<(Record, &'a [u8])> {
        let executed = self.executed;
        let mut buffers = Vec::new();
        for (place, buffer) in executed.buffers.iter().enumerate() {
            if let Ring::Samples(size) = self.scenario.machine.ring {
                buffer.copied.iter().for_each(|copy| self.put_sample(buffer, copy, size));
                continue;
            }
            for piece in pieces(buffer, &self.scenario.machine) {
                let record = self.put_piece(place, buffer, &piece);
                buffers.push((record, &buffer.bytes[piece.bytes]));
            }
        }
        buffers
    }

    /// The AUX record of a piece; returns its AUXTRACE record.
    fn put_piece(&mut self, place: usize, buffer: &Finished, piece: &AuxPiece) -> Record {
        let time = self.scenario.machine.nanoseconds(piece.end) + 1;
        let id = self.id(PT, place);
        let index = place as u32;
        let (origin, place) = match buffer.owner {
            Owner::Cpu(cpu) => (Origin { time, cpu, id, ..Origin::default() }, (index, u32::MAX, cpu)),
            Owner::Thread(tid) => {
                let thread = self.scenario.threads.iter().find(|thread| thread.tid == tid);
                let pid = thread.map_or(tid, |thread| thread.pid);
                (Origin { pid, tid, time, cpu: 0, id }, (index, tid, u32::MAX))
            }
        };
        let (offset, size) = piece.told;
        self.put(Record::aux(offset, size, piece.flags, origin), origin);
        Record::auxtrace(piece.bytes.len() as u64, piece.offset, piece.begin, place)
    }

    /// A sample with what the ring holds; what was never written is zero.
    fn put_sample(&mut self, buffer: &Finished, copy: &Copied, size: usize) {
        let cpu = if let Owner::Cpu(cpu) = buffer.owner { cpu } else { 0 };
        let origin = self.origin(SAMPLING, copy.thread, cpu, copy.tsc);
        let mut trace = vec![0; size - copy.bytes.len()];
        trace.extend(&buffer.bytes[copy.bytes.clone()]);
        self.put(Record::sample_with_trace(copy.ip, &trace, origin), origin);
    }

    pub(super) fn put_pokes(&mut self) {
        for poke in &self.scenario.pokes {
            let time = self.scenario.machine.nanoseconds(poke.tsc);
            let origin = Origin { time, id: self.id(SIDEBAND, 0), ..Origin::default() };
            self.timed.push((time, Record::text_poke(poke.address, &poke.old, &poke.new, origin)));
        }
    }
}
