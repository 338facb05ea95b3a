//! From a request's source, filters and selection to the intervals they mean.
//!
//! Input: an opened capture and the request. Output: the intervals of the source, the members of the population, the
//! criteria of the choice, and what there is to say about them.

mod beside;
mod clock_of_records;
mod extent;
mod kept_calls;
mod requests;
mod scan;
mod source;
mod unmatched;
mod wanted_cpus;
mod watched_calls;

pub(crate) use beside::source_beside;
pub(crate) use clock_of_records::relate;
pub(crate) use extent::{ensure_some_inside, inside};
pub(crate) use source::{check_selection, findings, members, missing_ids, nothing_chosen, read, spans};
pub(crate) use unmatched::unmatched;
