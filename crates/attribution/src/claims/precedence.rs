//! Which claim wins where two causes claim the same tick: one table, a reason per row.

/// The order of claims, strongest first. Within [`Rank::Kernel`] the deepest frame wins; otherwise the later start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rank {
    /// What the stop thread does while it is busy with another interval belongs to that interval, whatever it is; and what an event loop
    /// does while its pool has the request is not the request's.
    Queue,
    /// Leaving an idle state is a part of the run-queue wait, and the more specific cause.
    IdleExit,
    /// A thread that is switched out does nothing else; the switch record holds even where packets were lost.
    OffCpu,
    /// Nothing retired: the function at which the CPU stalled did not run.
    StandStill,
    /// The innermost kernel entry is what really ran; the outer one waited for it.
    Kernel,
    /// A pair of records shows kernel work where the flow does not.
    KernelByRecord,
    /// Where packets were lost, no claim that needs the flow may be made.
    Loss,
    /// Tracing was off: the kernel ran, or a filter requested it.
    Untraced,
    /// A spin-wait loop is user code with a more specific cause.
    Spin,
    /// User code runs where nothing above does.
    User,
    /// On a CPU, without any packet.
    Uncovered,
}
