//! Functions to offer where none has the requested name.
//!
//! Input: a name. Output: parts of such a function, then names that end in it, that hold it, or that are nearly spelled so.

use std::collections::BTreeSet;
use std::sync::Arc;

use strsim::osa_distance;

use super::ProcessImages;
use crate::copies::{original, whole};
use crate::symbol_table::SymbolTable;

/// How near a name is; the lesser is offered first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// A part of the function: `parse.part.0`.
    Part,
    /// The function in a namespace or a type, or in other letters: `server::parse`, `Parse`.
    End,
    /// Nearly spelled so: `prase`.
    Spelling,
    /// It holds the name.
    Within,
}

impl ProcessImages {
    /// At most `most` names of functions, in any process or the kernel, that are near `name`, the nearest first.
    pub fn names_like(&self, name: &str, most: usize) -> Vec<String> {
        let pids = self.timelines.pids();
        let of_images = self.images.iter().filter_map(|image| image.symbols(&self.search));
        let of_runtimes = pids.iter().filter_map(|&pid| Some(self.perf_map(pid)?.1));
        let tables = of_images.chain(self.kernel().tables()).chain(of_runtimes);
        nearest(tables.flat_map(SymbolTable::spoken_names), name, most)
    }
}

fn nearest<'a>(names: impl Iterator<Item = &'a str>, name: &str, most: usize) -> Vec<String> {
    let asked = name.to_lowercase();
    let mut found: BTreeSet<(Nearness, usize, Arc<str>)> = BTreeSet::new();
    // A copy is found by the function's name.
    for candidate in names.map(original) {
        let Some(nearness) = nearness(candidate, name, &asked) else { continue };
        let is_nearer =
            |(last, length, _): &(Nearness, usize, _)| (nearness, candidate.len()) < (*last, *length);
        if found.len() < most || found.last().is_some_and(is_nearer) {
            found.insert((nearness, candidate.len(), candidate.into()));
            if found.len() > most {
                found.pop_last();
            }
        }
    }
    found.into_iter().map(|(_, _, name)| name.to_string()).collect()
}

/// `asked` is `name` in small letters.
fn nearness(candidate: &str, name: &str, asked: &str) -> Option<Nearness> {
    if whole(candidate) == Some(name) {
        return Some(Nearness::Part);
    }
    // Few letters are near to everything.
    if asked.len() < 3 {
        return None;
    }
    let small = candidate.to_lowercase();
    if let Some(before) = small.strip_suffix(asked) {
        return Some(if before.is_empty() || before.ends_with([':', '.']) {
            Nearness::End
        } else {
            Nearness::Within
        });
    }
    let wrong = asked.len().div_ceil(4).min(3);
    if small.len().abs_diff(asked.len()) <= wrong && osa_distance(&small, asked) <= wrong {
        return Some(Nearness::Spelling);
    }
    small.contains(asked).then_some(Nearness::Within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let names = [
            "main",
            "reparse_all",
            "server::parse",
            "parse.part.0",
            "prase.constprop.0",
            "parse.cold",
            "sort",
            "preparse",
        ];
        let expected = ["parse.cold", "parse.part.0", "server::parse", "prase", "preparse", "reparse_all"];
        assert_eq!(nearest(names.into_iter(), "parse", 10), expected);
        assert_eq!(nearest(names.into_iter(), "parse", 2), expected[..2]);
        assert_eq!(nearest(names.into_iter(), "Sort", 2), ["sort"]);
        assert_eq!(nearest(names.into_iter(), "compress", 5), Vec::<String>::new());
        assert_eq!(nearest(names.into_iter(), "ma", 5), Vec::<String>::new());
    }
}
