//! Which attribute a record's id belongs to.
//!
//! Looked up once or twice for each record. The kernel numbers events one after the other, so a recording's ids lie close together and one
//! list has them all; ids that do not (of several machines, or invented ones) are hashed.

use std::collections::HashMap;

use super::Attr;

/// So many places of the list may be empty for each id in it.
const EMPTY_PER_ID: u64 = 64;

/// The number of an attribute by each of its ids.
#[derive(Clone, Debug)]
pub(crate) enum ById {
    /// By the distance from the first id; `u32::MAX` where there is none.
    Close { first: u64, numbers: Vec<u32> },
    /// Far from each other.
    Apart(HashMap<u64, u32>),
}

impl Default for ById {
    fn default() -> ById {
        ById::Close { first: 0, numbers: Vec::new() }
    }
}

impl ById {
    /// Where attributes share an id, it is the last one's.
    pub(crate) fn new(attrs: &[Attr]) -> ById {
        let ids =
            || (0u32..).zip(attrs).flat_map(|(number, attr)| attr.ids.iter().map(move |&id| (id, number)));
        let (Some(first), Some(last)) = (ids().map(|(id, _)| id).min(), ids().map(|(id, _)| id).max()) else {
            return ById::default();
        };
        match usize::try_from(last - first) {
            Ok(places) if places as u64 / EMPTY_PER_ID <= ids().count() as u64 => {
                let mut numbers = vec![u32::MAX; places + 1];
                for (id, number) in ids() {
                    let place = usize::try_from(id - first).ok().and_then(|place| numbers.get_mut(place));
                    if let Some(place) = place {
                        *place = number;
                    }
                }
                ById::Close { first, numbers }
            }
            _ => ById::Apart(ids().collect()),
        }
    }

    /// The number of the attribute that has `id`.
    pub(crate) fn get(&self, id: u64) -> Option<usize> {
        let number = match self {
            ById::Close { first, numbers } => *numbers.get(usize::try_from(id.checked_sub(*first)?).ok()?)?,
            ById::Apart(numbers) => *numbers.get(&id)?,
        };
        (number != u32::MAX).then_some(number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_ids(ids: &[&[u64]]) -> ById {
        let attr =
            |ids: &&[u64]| Attr { ids: ids.to_vec(), ..Attr::parse(&[0; 48]).expect("the first kernel's") };
        ById::new(&ids.iter().map(attr).collect::<Vec<_>>())
    }

    #[test]
    fn ids_close_together_and_apart_find_the_same() {
        let (close, apart) = (by_ids(&[&[7, 9], &[8, 12]]), by_ids(&[&[7, 9], &[8, 12, 1 << 40]]));
        assert!(matches!((&close, &apart), (ById::Close { .. }, ById::Apart(_))));
        for by_id in [&close, &apart] {
            let found = [6, 7, 8, 9, 10, 12, 13, u64::MAX].map(|id| by_id.get(id));
            assert_eq!(found, [None, Some(0), Some(1), Some(0), None, Some(1), None, None]);
        }
        assert_eq!((apart.get(1 << 40), close.get(1 << 40)), (Some(1), None));
    }

    #[test]
    fn an_id_of_several_is_the_last_ones() {
        assert_eq!(by_ids(&[&[7], &[7, 8]]).get(7), Some(1));
        assert_eq!(by_ids(&[]).get(0), None);
        assert_eq!(by_ids(&[&[u64::MAX]]).get(u64::MAX), Some(0));
    }
}
