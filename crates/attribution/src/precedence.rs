//! Who wins where two causes claim the same tick: one table, a reason per row.

/// The order of claims, strongest first. Within [`Rank::Kernel`] the deepest frame wins; otherwise the later start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rank {
    /// What the stop thread does while it is busy with another interval is that one's, whatever it is.
    Queue,
    /// Leaving an idle state is a part of the run-queue wait, with a better name.
    IdleExit,
    /// A thread that is switched out does nothing else; the switch record knows even where packets were lost.
    OffCpu,
    /// Nothing retired: whatever function it stands in did not run.
    StandStill,
    /// The innermost kernel entry is what really ran; the outer one waited for it.
    Kernel,
    /// A pair of records tells of kernel work where the flow does not.
    KernelByRecord,
    /// Where packets were lost, nothing that needs the flow may be said.
    Loss,
    /// Tracing was off: the kernel ran, or a filter asked for it.
    Untraced,
    /// A loop that waits in place is user code with a better name.
    Spin,
    /// User code is what runs when nothing above does.
    User,
    /// On a CPU, and no packet tells anything.
    Uncovered,
}
