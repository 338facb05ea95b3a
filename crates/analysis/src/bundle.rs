//! Some outliers for a ticket, and opening what a colleague got.
//!
//! A bundle holds the report in three formats, the slice it was made from, and the files that served for code and names,
//! so that `tailtrace explain BUNDLE` gives the same report on a machine that has nothing else.
//! `docs/slice-and-bundle.md` is the contract.

mod binaries;
mod contents;
mod layout;
mod manifest;
mod open;
mod pack;
mod readme;
mod unpack;

pub use binaries::{LeftOut, Packed, PackedFile, Packing, Why};
pub use contents::contents;
pub use layout::Content;
pub use open::{Opened, is_bundle};
pub use pack::{is_archive, write};
pub use unpack::{Limits, Refusal, unpack};
