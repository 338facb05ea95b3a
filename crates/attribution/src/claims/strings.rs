//! What single string instructions took, in words: their time is that of the code that they are in.
//!
//! Input: the time in string instructions ([`crate::walk::string_instructions`]). Output: particulars of kernel work,
//! and words for the comparison of user code.

use model::{Ticks, TimeConversion};

use crate::claims::claim::Claim;
use crate::claims::lengths::tell_ns;
use crate::walk::string_instructions::StringTime;

/// How many kinds are listed.
const MOST: usize = 3;

/// Adds to each claim of kernel work which string instructions took a part of its time.
pub(crate) fn tell_in_frames(
    claims: &mut [Claim],
    strings: &[StringTime],
    conversion: Option<TimeConversion>,
) {
    let innermost = |string: &StringTime| {
        let range = string.range;
        let holds = |claim: &Claim| claim.range().start <= range.start && claim.range().stop >= range.stop;
        let holders = claims.iter().enumerate().filter(|(_, claim)| holds(claim));
        holders.max_by_key(|(_, claim)| (claim.bid.depth, claim.range().start)).map(|(index, _)| index)
    };
    let mut of_claim: Vec<(usize, &StringTime)> = strings
        .iter()
        .filter(|string| string.kernel)
        .filter_map(|string| Some((innermost(string)?, string)))
        .collect();
    of_claim.sort_by_key(|&(index, _)| index);
    for group in of_claim.chunk_by(|a, b| a.0 == b.0) {
        let claim = &mut claims[group[0].0];
        let told = tell_strings(group.iter().map(|&(_, string)| string), claim.range().ticks(), conversion);
        claim.say(&told.unwrap_or_default());
    }
}

/// `one rep movsb for 12.5 us in memcpy()`: those of `strings` that took a tenth of `all`, equal ones together.
pub(crate) fn tell_strings<'a>(
    strings: impl Iterator<Item = &'a StringTime>,
    all: Ticks,
    conversion: Option<TimeConversion>,
) -> Option<String> {
    let mut kinds: Vec<(&StringTime, usize, u64)> = Vec::new();
    for string in strings {
        let ticks = string.range.ticks().0;
        // The part that ends counts, with those before it that an interrupt ended.
        let whole = usize::from(!string.interrupted);
        let same = |known: &StringTime| known.name == string.name && known.function == string.function;
        match kinds.iter_mut().find(|(known, ..)| same(known)) {
            Some((_, count, sum)) => (*count, *sum) = (*count + whole, sum.saturating_add(ticks)),
            None => kinds.push((string, whole, ticks)),
        }
    }
    kinds.retain(|&(_, _, ticks)| ticks.saturating_mul(10) >= all.0);
    kinds.sort_by_key(|&(_, _, ticks)| std::cmp::Reverse(ticks));
    let told: Vec<String> = kinds
        .iter()
        .take(MOST)
        .map(|&(string, count, ticks)| {
            let count = if count <= 1 { "one".to_owned() } else { count.to_string() };
            let length = conversion
                .map_or_else(|| format!("{ticks} ticks"), |clock| tell_ns(clock.ticks_to_ns(Ticks(ticks))));
            let place = string.function.as_ref().map_or_else(String::new, |name| format!(" in {name}()"));
            format!("{count} {} for {length}{place}", string.name)
        })
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}
