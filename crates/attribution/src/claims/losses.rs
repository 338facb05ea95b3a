//! `trace.loss` by records: where the kernel reports that it lost trace or records.
//!
//! An AUX record with the flag truncated, partial or collided marks where tracing stopped because the buffer was
//! full: the silence after it is a loss and was not requested. A LOST record follows the records that it counts:
//! where switches are among them, the thread's place is not known. Certainty: measured.

use model::{Cause, Certainty, Cpu, Evidence, Ticks, Tsc};

use crate::claims::claim::Claim;
use crate::claims::precedence::Rank;
use crate::records::event::{EventKind, SidebandEvent};
use crate::records::sideband::Sideband;
use crate::records::words::describe;
use crate::threads::stays::{Stay, Whereabouts};

/// How far a loss and its record lie apart: the interrupt that writes the record, about 20 us.
const APART: Ticks = Ticks(50_000);

/// Claims as losses the silences that AUX records explain, and the time for which records are missing.
pub(crate) fn add_losses(claims: &mut Vec<Claim>, stays: &[Stay], sideband: &Sideband) {
    let losses: Vec<&SidebandEvent> =
        sideband.events().iter().filter(|event| loss(event) != Loss::None).collect();
    if losses.is_empty() {
        return;
    }
    for claim in claims.iter_mut() {
        if matches!(claim.bid.rank, Rank::Untraced | Rank::Loss | Rank::Uncovered) {
            let (start, stop) = (claim.range().start, claim.range().stop);
            if let Some(record) = of_kind(&losses, Loss::Trace, claim.cpu, start, stop) {
                lose(claim, record);
            }
        }
    }
    let unknown = stays.iter().filter(|stay| stay.place == Whereabouts::Unknown);
    claims.extend(unknown.filter_map(|stay| {
        let record = of_kind(&losses, Loss::Records, None, stay.range.start, stay.range.stop)?;
        let mut claim = Claim::new(stay.range, Rank::Uncovered, Cause::TraceLoss, Certainty::Measured);
        claim.occurrence = stay.range.start.0;
        claim.say("the place of the thread is unknown");
        lose(&mut claim, record);
        Some(claim)
    }));
}

/// What a record reports as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    None,
    Trace,
    Records,
}

fn loss(event: &SidebandEvent) -> Loss {
    match event.kind {
        EventKind::TraceLost { .. } => Loss::Trace,
        EventKind::RecordsLost { .. } => Loss::Records,
        _ => Loss::None,
    }
}

/// The first record of `kind` about the time from `start` to `stop`, on `cpu` where known.
fn of_kind<'a>(
    losses: &[&'a SidebandEvent],
    kind: Loss,
    cpu: Option<Cpu>,
    start: Tsc,
    stop: Tsc,
) -> Option<&'a SidebandEvent> {
    let about = |event: &&&SidebandEvent| {
        let on_cpu = cpu.is_none() || event.cpu.is_none() || event.cpu == cpu;
        loss(event) == kind && on_cpu && event.time >= start.before(APART) && event.time.before(APART) <= stop
    };
    losses.iter().find(about).copied()
}

fn lose(claim: &mut Claim, record: &SidebandEvent) {
    if claim.bid.rank == Rank::Untraced {
        claim.bid.rank = Rank::Loss;
        claim.cause = Cause::TraceLoss;
    }
    claim.certainty = Certainty::Measured;
    let text = describe(&record.kind);
    claim.say(&text);
    claim.evidence.insert(0, Evidence::record(record.offset, record.cpu, text));
}

#[cfg(test)]
mod tests;
