//! Tasks and regions with an id, which end on whatever thread: the end has the id alone, so their labels are kept while they are open.
//!
//! A table of fixed size without locks: a place is looked for among four beside one another, then among twelve all over the table. Where
//! all are taken, the end has no label and is not written; the report then has a begin without an end.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::abi::{Domain, Id, StringHandle};
use crate::stack;
use crate::tasks::When;

const PLACES: usize = 16_384;
/// Places that one key may have: these beside one another, and so many in all.
const NEAR: u64 = 4;
const TRIES: u64 = 16;
/// 2^64 divided by the golden ratio: multiples of it are spread evenly.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// What a place has for a key while its label is written, and while it is free.
const BUSY: u64 = u64::MAX;
const FREE: u64 = 0;

struct Place {
    key: AtomicU64,
    label: AtomicPtr<StringHandle>,
}

static PLACES_OF_LABELS: [Place; PLACES] =
    [const { Place { key: AtomicU64::new(FREE), label: AtomicPtr::new(std::ptr::null_mut()) } }; PLACES];

/// Of a domain (its address) and a key, what a place has for a key; and the places that it may have. Keys that follow one another, as numbers and as
/// addresses, have places beside one another; where the keys of two domains meet, there are not enough of these, and the others help.
fn places(domain: u64, key: u64) -> (u64, impl Iterator<Item = &'static Place>) {
    let mixed = key ^ domain.wrapping_mul(SPREAD);
    let first = mixed ^ mixed >> 6 ^ mixed >> 20 ^ mixed >> 48;
    let places = (0..TRIES).map(move |at| {
        let far = mixed.wrapping_mul(SPREAD.wrapping_mul(2 * at + 1)) >> 40;
        let place = if at < NEAR { first.wrapping_add(at) } else { far };
        &PLACES_OF_LABELS[usize::try_from(place % PLACES as u64).unwrap_or_default()]
    });
    (mixed.clamp(FREE + 1, BUSY - 1), places)
}

fn keep(domain: u64, key: u64, label: &StringHandle) {
    let (key, mut places) = places(domain, key);
    let is_taken =
        |place: &&Place| place.key.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok();
    if let Some(place) = places.find(is_taken) {
        place.label.store(std::ptr::from_ref(label).cast_mut(), Ordering::Relaxed);
        place.key.store(key, Ordering::Release);
    }
}

fn take(domain: u64, key: u64) -> Option<&'static StringHandle> {
    let (key, mut places) = places(domain, key);
    let place = places.find(|place| place.key.load(Ordering::Acquire) == key)?;
    let label = place.label.load(Ordering::Relaxed);
    // One thread alone ends it.
    place.key.store(FREE, Ordering::Release);
    StringHandle::at(label)
}

fn begin_when(domain: Option<&Domain>, id: Id, name: Option<&StringHandle>, when: When) {
    let Some((domain, name)) = domain.zip(name) else { return };
    let Some(label) = name.text().filter(|_| !stack::is_paused() && !matches!(when, When::Unknown)) else {
        return;
    };
    let key = id.key();
    // First: another thread may end it as soon as it has begun.
    keep(domain.address() as u64, key, name);
    when.begin(label, key);
}

fn end_when(domain: Option<&Domain>, id: Id, when: When) {
    let key = id.key();
    let name = domain.and_then(|domain| take(domain.address() as u64, key));
    if let Some(label) = name.and_then(StringHandle::text) {
        when.end(label, key);
    }
}

/// `__itt_task_begin_overlapped`, `__itt_region_begin`.
pub(crate) extern "C" fn begin(domain: Option<&Domain>, id: Id, _parent: Id, name: Option<&StringHandle>) {
    begin_when(domain, id, name, When::Now);
}

/// `__itt_task_begin_overlapped_ex`.
pub(crate) extern "C" fn begin_ex(
    domain: Option<&Domain>,
    clock: *const c_void,
    timestamp: u64,
    id: Id,
    _parent: Id,
    name: Option<&StringHandle>,
) {
    begin_when(domain, id, name, When::of(clock, timestamp));
}

/// `__itt_task_end_overlapped`, `__itt_region_end`.
pub(crate) extern "C" fn end(domain: Option<&Domain>, id: Id) {
    end_when(domain, id, When::Now);
}

/// `__itt_task_end_overlapped_ex`.
pub(crate) extern "C" fn end_ex(domain: Option<&Domain>, clock: *const c_void, timestamp: u64, id: Id) {
    end_when(domain, id, When::of(clock, timestamp));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two domains at any distance: where their keys meet, both want the same places.
    #[test]
    fn a_label_is_kept_until_the_end() {
        let [a, b] = [c"a", c"b"].map(|text| &*Box::leak(Box::new(StringHandle::new(text))));
        let one = 0x7f00_0000_1000;
        for other in (1..=200).map(|at| one + 40 * at) {
            for key in 0..1000 {
                keep(one, key, a);
                keep(other, key, b);
            }
            for key in 0..1000 {
                let found = [take(other, key), take(one, key), take(one, key)];
                let found = found.map(|name| name.and_then(StringHandle::text));
                assert_eq!(found, [Some(c"b"), Some(c"a"), None], "{key} {other:#x}");
            }
        }
    }
}
