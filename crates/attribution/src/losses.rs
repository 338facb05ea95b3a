//! `trace.loss` by records: where the kernel says that it lost trace or records.
//!
//! An AUX record marked truncated, partial or collided stands where tracing stopped for want of room: the silence
//! behind it is a loss and was not asked for. A LOST record stands behind the records that it counts: where switches
//! are among them, nothing tells where the thread was. Certainty: measured.

use model::{Cause, Certainty, Cpu, Evidence, Ticks, Tsc};

use crate::claim::Claim;
use crate::kernel::describe;
use crate::precedence::Rank;
use crate::sideband::{EventKind, Sideband, SidebandEvent};
use crate::timeline::{Stay, Whereabouts};

/// How far a loss and the record of it lie apart: the interrupt that writes the record, about 20 us.
const APART: Ticks = Ticks(50_000);

/// Makes losses of the silences that AUX records explain, and of the time for which records are missing.
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
        claim.say("where the thread was is not known");
        lose(&mut claim, record);
        Some(claim)
    }));
}

/// What a record says was lost.
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

/// The first record of `kind` about the time from `start` to `stop`, on `cpu` where that is known.
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
