//! What must be known of each instruction of a block: how long it is, and which packets may bind to it.

/// Which packets may bind to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// None that name no address.
    Plain,
    /// PTWRITE.
    Ptwrite,
    /// MOV CR3.
    PageTable,
    /// A far transfer that is none of those below.
    Far,
    /// IRET, SYSRET, SYSEXIT, ERETU or ERETS.
    Iret,
    /// VMLAUNCH or VMRESUME.
    VmEntry,
    /// UIRET.
    UserIret,
}

/// Length and kind of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    length: u8,
    kind: Kind,
}

impl Mark {
    pub(super) fn new(length: u64, kind: Kind) -> Mark {
        // No instruction is longer than 15 bytes.
        Mark { length: u8::try_from(length).unwrap_or(u8::MAX), kind }
    }

    /// In bytes.
    pub(super) fn length(self) -> u64 {
        u64::from(self.length)
    }

    pub(super) fn kind(self) -> Kind {
        self.kind
    }
}
