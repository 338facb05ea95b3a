//! `offcpu.*`: one absence of a thread from its CPU. Why it left, what it waited for, what ended the wait, and how
//! long it was runnable then.
//!
//! [`absence`] makes the claims of one stay, [`preemption`] those of a thread that could run; [`wait`] names the object of a
//! wait, by [`call`], [`block_io`], [`socket`], [`futex`], [`timeout`] and [`goroutine`]; [`story`] says the same in parts. Imports what `claims` may
//! import, and `claims`. The waker comes from
//! [`crate::threads::wakeup`].

pub(crate) mod absence;
mod block_io;
mod call;
pub(crate) mod context;
pub(crate) mod futex;
pub(crate) mod goroutine;
mod holder;
pub(crate) mod pool;
pub(crate) mod pooled;
mod preemption;
mod socket;
pub(crate) mod story;
mod timeout;
pub(crate) mod wait;
