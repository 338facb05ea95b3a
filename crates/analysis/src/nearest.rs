//! The name that was meant by a mistyped one.

use strsim::osa_distance;

/// The one of `names` that differs from `wanted` in the fewest letters, if in no more than a third of them.
pub(crate) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = wanted.to_lowercase();
    let distances = names.map(|name| (osa_distance(&name.to_lowercase(), &wanted), name));
    let (distance, nearest) = distances.min_by_key(|&(distance, _)| distance)?;
    (distance <= wanted.chars().count().div_ceil(3)).then_some(nearest)
}
