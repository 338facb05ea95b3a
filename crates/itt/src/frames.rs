//! Frames: intervals of a domain, which has their label. Those without an id are numbered, for one of them is open at a time.

use std::sync::atomic::Ordering;

use crate::abi::{Domain, Id, id};
use crate::stack;

/// What the API has for no time.
const NO_TIME: u64 = u64::MAX;

/// `__itt_get_timestamp`: the time-stamp counter.
pub(crate) extern "C" fn get_timestamp() -> u64 {
    marks::tsc()
}

fn key(domain: &Domain, at: *const Id, is_new: bool) -> u64 {
    id(at).map_or_else(
        || domain.frames.fetch_add(is_new.into(), Ordering::Relaxed) + u64::from(is_new),
        Id::key,
    )
}

/// `__itt_frame_begin_v3`.
pub(crate) extern "C" fn frame_begin(domain: Option<&Domain>, id: *const Id) {
    let Some((domain, label)) = domain.and_then(|domain| Some((domain, domain.name()?))) else { return };
    let key = key(domain, id, true);
    if !stack::is_paused() {
        marks::begin(label, key);
    }
}

/// `__itt_frame_end_v3`.
pub(crate) extern "C" fn frame_end(domain: Option<&Domain>, id: *const Id) {
    if let Some((domain, label)) = domain.and_then(|domain| Some((domain, domain.name()?))) {
        marks::end(label, key(domain, id, false));
    }
}

/// `__itt_frame_submit_v3`: a frame that is over, or that ends now.
pub(crate) extern "C" fn frame_submit(domain: Option<&Domain>, id: *const Id, begin: u64, end: u64) {
    let Some((domain, label)) = domain.and_then(|domain| Some((domain, domain.name()?))) else { return };
    let end = if end == NO_TIME { marks::tsc() } else { end };
    let key = key(domain, id, true);
    if !stack::is_paused() {
        marks::begin_at(label, key, begin);
        marks::end_at(label, key, end);
    }
}
