//! The population as a report shows it: statistics, waits by object, devices, NUMA nodes. Of records alone; nothing is
//! decoded.

pub(crate) mod numa;
pub(crate) mod summary;
pub(crate) mod view;
