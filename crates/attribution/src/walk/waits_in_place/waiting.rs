//! How loops wait.

/// How a loop waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// It polls continuously.
    Looks,
    /// The same, and it pauses in between, or yields.
    Pauses,
    /// It pauses and looks at nothing but the time: a delay.
    Delays,
    /// It pauses, or yields, and writes small state: it waits if it does so again and again.
    Notes,
    /// It lets the core doze in between (`tpause`): an iteration may take long.
    Dozes,
}

/// How a loop waits, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    pub(crate) how: Waiting,
    /// General registers, as bits by their numbers in machine code, by which it copies what it sees, or writes numbers without a pause: it waits
    /// only if they point to the thread's stack.
    pub(crate) into_stack: u16,
    /// General registers that it leaves as they were, as bits.
    pub(crate) keeps: u16,
}
