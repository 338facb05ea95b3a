//! A part of a whole, in integers.

/// `whole * part / of`, without overflow and no more than `whole`; nothing where `of` is zero.
pub(super) fn share(whole: u64, part: u64, of: u64) -> u64 {
    if of == 0 {
        return 0;
    }
    u64::try_from(u128::from(whole) * u128::from(part.min(of)) / u128::from(of)).unwrap_or(whole)
}
