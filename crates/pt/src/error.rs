//! What can stop a decode altogether. Damage inside a stream is no error: it becomes a [`Gap`](crate::Gap).

/// Why a window could not be decoded at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// libipt refused to make a decoder; in practice memory ran out.
    #[error("libipt could not make a {what}: out of memory? Fewer threads need less")]
    OutOfMemory {
        /// What was asked of it.
        what: &'static str,
    },
}
