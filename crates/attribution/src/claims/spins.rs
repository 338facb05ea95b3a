//! `user.spin`: time in spin-wait loops. That the thread spun is decoded; the comparison decides whether it was too
//! long.

use std::collections::HashMap;

use model::{Cause, Certainty, Evidence};

use crate::claims::claim::Claim;
use crate::claims::precedence::Rank;
use crate::walk::activity::Spin;

/// Between the name of a loop and what else is known of it; names of functions do not hold it.
pub(crate) const PARTICULAR: &str = "; ";

/// The time in spin-wait loops, as claims for the comparison.
pub(crate) fn claims_of_spins(spins: &[Spin]) -> impl Iterator<Item = Claim> + '_ {
    spins.iter().map(|spin| {
        let mut claim = Claim::new(spin.range, Rank::Spin, Cause::UserSpin, Certainty::Decoded);
        claim.occurrence = spin.range.start.0;
        claim.uncertainty = spin.uncertainty;
        claim.detail = match &spin.caller {
            Some(caller) => format!("{}{PARTICULAR}called by {caller}()", spin.name()),
            None => spin.name(),
        };
        claim.evidence.push(Evidence::symbol(spin.name()));
        claim
    })
}

/// The loop of a claim or segment, by the name that [`Spin::name`] gives it.
pub(crate) fn loop_of(detail: &str) -> &str {
    detail.split(PARTICULAR).next().unwrap_or(detail)
}

/// The iterations of each spin-wait loop.
pub(crate) fn rounds_of_spins(spins: &[Spin]) -> HashMap<String, u64> {
    let mut rounds = HashMap::new();
    for spin in spins.iter().filter(|spin| !spin.dozes) {
        *rounds.entry(spin.name()).or_default() += spin.rounds;
    }
    rounds
}

#[cfg(test)]
mod tests;
