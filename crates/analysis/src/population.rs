//! The population as a report shows it: statistics, waits by object, devices, NUMA nodes. Of records alone; nothing is
//! decoded.

mod block_io;
pub(crate) mod labels;
pub(crate) mod numa;
mod objects;
pub(crate) mod pebs;
pub(crate) mod summary;
mod times;
pub(crate) mod view;
