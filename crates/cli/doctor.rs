//! `tailtrace doctor`: what stops a recording on this machine, what makes it less exact, and the command that mends it.
//!
//! Each check reads facts of [`crate::machine`] and yields one finding, or none where its subject is absent. Nothing is changed.

mod checks;
mod examination;
mod finding;
pub(crate) mod json;
mod storage;
pub(crate) mod text;
pub(crate) mod trial;

pub(crate) use checks::findings;
pub(crate) use examination::Examination;
pub(crate) use finding::stops;
pub(crate) use storage::Storage;
