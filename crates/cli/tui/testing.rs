//! What tests of pages, keys and screens share.

pub(super) mod sample;
pub(super) mod served;
