//! What is known of each thread or CPU, by its number: found without a search for those that take turns.

use std::collections::HashMap;

/// Places by some bits of the number; a power of two, more than take turns in most recordings.
const RECENT: usize = 1 << 10;

/// Values by number.
#[derive(Debug)]
pub(super) struct ByNumber<T> {
    all: Vec<(u32, T)>,
    places: HashMap<u32, usize>,
    /// Where each was found last, by some bits of its number.
    recent: Vec<usize>,
}

impl<T> Default for ByNumber<T> {
    fn default() -> ByNumber<T> {
        ByNumber { all: Vec::new(), places: HashMap::new(), recent: vec![usize::MAX; RECENT] }
    }
}

impl<T> ByNumber<T> {
    pub(super) fn get(&self, number: u32) -> Option<&T> {
        let recent = self.all.get(self.recent[number as usize % RECENT]);
        let found = recent.filter(|(known, _)| *known == number);
        let found = found.or_else(|| self.all.get(*self.places.get(&number)?));
        found.map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let slot = number as usize % RECENT;
        if self.all.get(self.recent[slot]).is_none_or(|(known, _)| *known != number) {
            self.recent[slot] = *self.places.get(&number)?;
        }
        self.all.get_mut(self.recent[slot]).map(|(_, value)| value)
    }

    /// The one of that number, made by `new` where there is none yet.
    pub(super) fn entry(&mut self, number: u32, new: impl FnOnce() -> T) -> &mut T {
        let slot = number as usize % RECENT;
        if self.all.get(self.recent[slot]).is_none_or(|(known, _)| *known != number) {
            let next = self.all.len();
            let place = *self.places.entry(number).or_insert(next);
            if place == next {
                self.all.push((number, new()));
            }
            self.recent[slot] = place;
        }
        &mut self.all[self.recent[slot]].1
    }

    /// All, in the order in which they were made.
    pub(super) fn into_values(self) -> impl Iterator<Item = T> {
        self.all.into_iter().map(|(_, value)| value)
    }

    /// All, in the order of their numbers.
    pub(super) fn in_order(&mut self) -> impl Iterator<Item = &mut T> {
        let mut all: Vec<&mut (u32, T)> = self.all.iter_mut().collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5 and 1029 share a slot; -1 as a number is the last one.
    #[test]
    fn numbers_that_share_a_slot_are_different() {
        let mut known = ByNumber::default();
        for number in [5, u32::MAX, 1029, 5, 7] {
            *known.entry(number, || 0) += 1;
        }
        assert_eq!(
            [5, 7, 1029, u32::MAX, 2053].map(|number| known.get(number).copied()),
            [Some(2), Some(1), Some(1), Some(1), None]
        );
        *known.get_mut(1029).expect("known") = 9;
        assert_eq!(known.get_mut(2053), None);
        assert_eq!((known.get(5), known.get(1029)), (Some(&2), Some(&9)));
        assert_eq!(known.in_order().map(|count| *count).collect::<Vec<_>>(), [2, 1, 9, 1]);
    }
}
