//! The instructions that ran: each of them in order of time, or how many on each CPU.

mod count;
mod listing;
mod wanted;

pub use count::{Owner, count};
pub use listing::list;
pub use wanted::{Wanted, nothing_to_decode, ranges};
