//! PTWRITEs of one PT stream with the thread that executed each: those of the instruction by the packet walk alone,
//! emulated ones out of the decoded flow.

use std::ops::ControlFlow;

use model::Cpu;
use pt::{EventKind, FlowItem, FlowSink, Grain, Occupant, PtConfig, PtStream, PtwriteMark, scan_ptwrites};

use super::PtwriteOccurrence;

/// All PTWRITEs of `stream`; `occupants` says who was on the CPU, in order of time.
///
/// No code is needed and nothing is decoded, so this runs at the speed of the packet walk.
pub fn occurrences<'a>(
    stream: &'a PtStream<'a>,
    config: &PtConfig,
    occupants: &'a [Occupant],
) -> impl Iterator<Item = PtwriteOccurrence> + 'a {
    let cpu = stream.cpu();
    scan_ptwrites(stream, config).map(move |PtwriteMark { time, payload, ip, position }| PtwriteOccurrence {
        time,
        cpu,
        thread: Occupant::at(occupants, time),
        payload,
        ip,
        aux_offset: position,
    })
}

/// Takes the PTWRITEs out of a flow, emulated ones too.
#[derive(Clone, Debug)]
pub struct FlowPtwrites {
    cpu: Option<Cpu>,
    found: Vec<PtwriteOccurrence>,
}

impl FlowPtwrites {
    /// For the flow of a stream on `cpu`.
    pub fn new(cpu: Option<Cpu>) -> FlowPtwrites {
        FlowPtwrites { cpu, found: Vec::new() }
    }

    /// What the flow had, in its order.
    pub fn finish(self) -> Vec<PtwriteOccurrence> {
        self.found
    }
}

impl FlowSink for FlowPtwrites {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        if let FlowItem::Event(event) = item
            && let EventKind::Ptwrite { payload, ip } = event.kind
        {
            self.found.push(PtwriteOccurrence {
                time: event.time.likely,
                cpu: self.cpu,
                thread: event.thread,
                payload,
                ip,
                aux_offset: event.aux_offset,
            });
        }
        ControlFlow::Continue(())
    }

    fn grain(&self) -> Grain {
        Grain::Sums
    }
}
