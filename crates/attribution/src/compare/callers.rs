//! Names who called a function in which an outlier waited, where typical intervals run that function, too, but not its caller:
//! `wait_for_events() called by await_timer()`.

use std::collections::HashSet;

use model::Segment;

use crate::examine::examined::Examined;

/// Adds the callers to the places of the waits among `segments`, those of `outlier`.
pub(super) fn name_unusual(segments: &mut [Segment], outlier: &Examined, baselines: &[&Examined]) {
    let mut waits = outlier.claims.iter().filter(|claim| claim.callers.len() > 1).peekable();
    if waits.peek().is_none() {
        return;
    }
    let usual: HashSet<String> =
        baselines.iter().flat_map(|baseline| baseline.code.spoken_functions()).collect();
    for claim in waits {
        let Some(caller) = unusual_caller(&claim.callers, &usual) else { continue };
        for segment in segments.iter_mut().filter(|segment| claim.holds(segment)) {
            segment.story.place = format!("{} called by {caller}", segment.story.place);
        }
    }
}

/// The nearest caller that is not `usual`, of a function that is.
fn unusual_caller<'a>(callers: &'a [String], usual: &HashSet<String>) -> Option<&'a String> {
    let (function, callers) = callers.split_first()?;
    callers.iter().find(|caller| !usual.contains(*caller)).filter(|_| usual.contains(function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_named_where_it_makes_the_difference() {
        let of = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        let usual: HashSet<String> = of(&["poll_once", "serve", "main"]).into_iter().collect();
        for (callers, named) in [
            (&["poll_once", "await_timer", "serve", "main"][..], Some("await_timer")),
            (&["poll_once", "serve", "await_all", "main"], Some("await_all")),
            // The function itself is new, or nothing is.
            (&["await_timer", "rest", "serve", "main"], None),
            (&["poll_once", "serve", "main"], None),
            (&["poll_once"], None),
            (&[], None),
        ] {
            assert_eq!(unusual_caller(&of(callers), &usual).map(String::as_str), named, "{callers:?}");
        }
    }
}
