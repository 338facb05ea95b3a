//! PTWRITEs of one PT stream, found by the packet walk alone, with the thread that executed each.

use pt::{Occupant, PtConfig, PtStream, PtwriteMark, scan_ptwrites};

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
    scan_ptwrites(stream, config).map(move |PtwriteMark { time, payload, position, .. }| {
        let behind = occupants.partition_point(|occupant| occupant.since <= time);
        let thread = behind.checked_sub(1).map(|index| occupants[index].thread);
        PtwriteOccurrence { time, cpu, thread, payload, aux_offset: position }
    })
}
