//! Which claims are about the same piece of kernel work, so that it counts once.

use std::collections::BTreeMap;

use model::{Cause, TscRange};

use crate::claims::claim::Claim;

/// What is already claimed, by cause, each in time order, with the occurrence's number.
pub(crate) struct Occurrences<'a>(BTreeMap<&'a Cause, Vec<(TscRange, u64)>>);

impl<'a> Occurrences<'a> {
    /// The occurrences of `claims`.
    pub(crate) fn of(claims: &'a [Claim]) -> Occurrences<'a> {
        let mut known: BTreeMap<&Cause, Vec<(TscRange, u64)>> = BTreeMap::new();
        for claim in claims {
            known.entry(&claim.cause).or_default().push((claim.range(), claim.occurrence));
        }
        for of_cause in known.values_mut() {
            of_cause.sort_by_key(|(range, _)| range.start);
        }
        Occurrences(known)
    }

    /// The number of the first one with the cause of `claim` that overlaps it.
    pub(crate) fn same_as(&self, claim: &Claim) -> Option<u64> {
        let of_cause = self.0.get(&claim.cause)?;
        let from = of_cause.partition_point(|(range, _)| range.stop <= claim.range().start);
        of_cause.get(from).filter(|(range, _)| range.overlaps(claim.range())).map(|&(_, number)| number)
    }
}
