//! Events, the state that they change, and the effects that follow.
//!
//! Three threads: the main one draws and takes keys, one reads the terminal, one holds the capture and decodes. They speak
//! through one channel.

mod message;
mod run;
pub(super) mod state;
mod terminal;
pub(super) mod worker;
mod writing;

#[cfg(test)]
pub(super) use message::{Effect, Message};
pub(crate) use run::run;
pub(crate) use terminal::give_back;
