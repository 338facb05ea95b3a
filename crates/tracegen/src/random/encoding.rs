//! Bytes of instructions, by what they do to control flow and by mode.
//!
//! Source: Intel SDM vol. 2. Written down here, not taken from a decoder: what they are is known from this table alone.

use crate::instruction::Class;

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The next one follows, without any packet.
    Plain,
    PtWrite,
    PageTable,
    Mwait,
    /// `xbegin` and `xend`.
    Begin,
    Commit,
    Conditional,
    Jump,
    Call,
    IndirectJump,
    IndirectCall,
    Return,
    /// Into the kernel.
    Syscall,
    /// Out of the kernel.
    ToUser,
    Iret,
    /// FRED's returns of events, to the user and within the kernel.
    Eretu,
    Erets,
    /// Into a guest.
    VmEntry,
    /// Back from a user interrupt.
    UserIret,
    /// Back from system management mode.
    Rsm,
    /// A far jump, call or return without change of privilege.
    Far,
    /// `int n` and its kin.
    SoftwareInterrupt,
    /// It never retires.
    Fault,
}

impl Kind {
    /// Whether a displacement to its target stands at its end.
    pub(super) fn is_direct(self) -> bool {
        matches!(self, Kind::Conditional | Kind::Jump | Kind::Call)
    }

    /// What it is to the encoder.
    pub(super) fn class(self) -> Class {
        match self {
            Kind::Conditional => Class::Conditional,
            Kind::Jump => Class::Jump,
            Kind::Call => Class::Call,
            Kind::IndirectJump => Class::IndirectJump,
            Kind::IndirectCall => Class::IndirectCall,
            Kind::Return => Class::Return,
            Kind::Syscall => Class::Syscall,
            Kind::ToUser
            | Kind::Iret
            | Kind::Eretu
            | Kind::Erets
            | Kind::VmEntry
            | Kind::UserIret
            | Kind::Rsm
            | Kind::Far => Class::Far,
            Kind::SoftwareInterrupt | Kind::Fault => Class::SoftwareInterrupt,
            Kind::Plain | Kind::PtWrite | Kind::PageTable | Kind::Mwait | Kind::Begin | Kind::Commit => {
                Class::Plain
            }
        }
    }

    /// Whether the instruction after it may follow.
    pub(super) fn may_go_on(self) -> bool {
        let leads_away =
            matches!(self.class(), Class::Jump | Class::IndirectJump | Class::Return | Class::Far);
        !leads_away && self != Kind::Fault
    }
}

/// Where an instruction exists.
type Modes = u8;
const IN_16: Modes = 1;
const IN_32: Modes = 2;
const IN_64: Modes = 4;
const WIDE: Modes = IN_32 | IN_64;
const ALL: Modes = IN_16 | WIDE;
const OLD: Modes = IN_16 | IN_32;

/// One way to write an instruction: its bytes without a displacement, and how long that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) kind: Kind,
    pub(super) bytes: &'static [u8],
    /// Bytes of the displacement at its end.
    pub(super) displacement: u8,
    modes: Modes,
    /// Only in the kernel, or only outside of it.
    privileged: Option<bool>,
}

const fn form(kind: Kind, bytes: &'static [u8], modes: Modes) -> Form {
    Form { kind, bytes, displacement: 0, modes, privileged: None }
}

const fn direct(kind: Kind, bytes: &'static [u8], displacement: u8, modes: Modes) -> Form {
    Form { kind, bytes, displacement, modes, privileged: None }
}

const fn only(kernel: bool, kind: Kind, bytes: &'static [u8], modes: Modes) -> Form {
    Form { kind, bytes, displacement: 0, modes, privileged: Some(kernel) }
}

/// Every form; of a kind those that are written out more than once are met more often.
const FORMS: &[Form] = &[
    form(Kind::Plain, &[0x90], ALL),
    form(Kind::Plain, &[0xf3, 0x90], ALL),
    form(Kind::Plain, &[0x85, 0xc0], ALL),
    form(Kind::Plain, &[0x50], ALL),
    form(Kind::Plain, &[0x8b, 0x00], ALL),
    form(Kind::Plain, &[0x0f, 0x31], ALL),
    form(Kind::Plain, &[0x0f, 0xa2], ALL),
    form(Kind::Plain, &[0xf3, 0xa4], ALL),
    form(Kind::Plain, &[0x0f, 0x1f, 0x44, 0x00], IN_16),
    form(Kind::Plain, &[0x0f, 0x1f, 0x44, 0x00, 0x00], WIDE),
    form(Kind::Plain, &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00], WIDE),
    form(Kind::Plain, &[0x8b, 0x84, 0x24, 0x10, 0x20, 0x30, 0x40], WIDE),
    form(Kind::Plain, &[0xb8, 0xc3, 0xc3, 0xc3, 0xc3], WIDE),
    form(Kind::Plain, &[0xb8, 0xe8, 0xe9], IN_16),
    form(Kind::Plain, &[0x48], OLD),
    form(Kind::Plain, &[0x48, 0x89, 0xc8], IN_64),
    form(Kind::Plain, &[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8], IN_64),
    form(Kind::Plain, &[0xc5, 0xf8, 0x28, 0xc1], IN_64),
    form(Kind::Plain, &[0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1], IN_64),
    form(Kind::Plain, &[0xc4, 0xe2, 0x71, 0x00, 0xc2], IN_64),
    form(Kind::Plain, &[0xf3, 0x0f, 0x1e, 0xfa], IN_64),
    form(Kind::Plain, &[0x67, 0x8b, 0x00], IN_64),
    form(Kind::Plain, &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], WIDE),
    only(true, Kind::Plain, &[0x0f, 0x30], IN_64),
    only(true, Kind::Plain, &[0x0f, 0x01, 0xf8], IN_64),
    only(true, Kind::Plain, &[0xfb], IN_64),
    form(Kind::PtWrite, &[0xf3, 0x0f, 0xae, 0xe0], WIDE),
    form(Kind::PtWrite, &[0xf3, 0x48, 0x0f, 0xae, 0xe0], IN_64),
    form(Kind::PtWrite, &[0xf3, 0x0f, 0xae, 0x20], WIDE),
    only(true, Kind::PageTable, &[0x0f, 0x22, 0xd8], IN_64),
    only(true, Kind::PageTable, &[0x0f, 0x22, 0xdf], IN_64),
    only(true, Kind::Mwait, &[0x0f, 0x01, 0xc9], IN_64),
    only(false, Kind::Begin, &[0xc7, 0xf8, 0x10, 0, 0, 0], IN_64),
    only(false, Kind::Commit, &[0x0f, 0x01, 0xd5], IN_64),
    direct(Kind::Conditional, &[0x74], 1, ALL),
    direct(Kind::Conditional, &[0x7f], 1, ALL),
    direct(Kind::Conditional, &[0x2e, 0x75], 1, ALL),
    direct(Kind::Conditional, &[0xe2], 1, ALL),
    direct(Kind::Conditional, &[0xe0], 1, ALL),
    direct(Kind::Conditional, &[0xe3], 1, ALL),
    direct(Kind::Conditional, &[0x67, 0xe3], 1, WIDE),
    direct(Kind::Conditional, &[0x0f, 0x84], 4, WIDE),
    direct(Kind::Conditional, &[0x0f, 0x8f], 4, WIDE),
    direct(Kind::Conditional, &[0x66, 0x0f, 0x85], 4, IN_64),
    direct(Kind::Conditional, &[0x0f, 0x85], 2, IN_16),
    direct(Kind::Jump, &[0xeb], 1, ALL),
    direct(Kind::Jump, &[0xe9], 4, WIDE),
    direct(Kind::Jump, &[0x48, 0xe9], 4, IN_64),
    direct(Kind::Jump, &[0xe9], 2, IN_16),
    direct(Kind::Jump, &[0x66, 0xe9], 4, IN_16),
    direct(Kind::Call, &[0xe8], 4, WIDE),
    direct(Kind::Call, &[0xe8], 4, WIDE),
    direct(Kind::Call, &[0xe8], 2, IN_16),
    form(Kind::IndirectJump, &[0xff, 0xe0], ALL),
    form(Kind::IndirectJump, &[0x3e, 0xff, 0xe0], WIDE),
    form(Kind::IndirectJump, &[0x41, 0xff, 0xe3], IN_64),
    form(Kind::IndirectJump, &[0xff, 0x24, 0xc5, 0, 0, 0, 0], WIDE),
    form(Kind::IndirectJump, &[0xff, 0x25, 0, 0, 0, 0], WIDE),
    form(Kind::IndirectCall, &[0xff, 0xd0], ALL),
    form(Kind::IndirectCall, &[0xff, 0x15, 0, 0, 0, 0], WIDE),
    form(Kind::IndirectCall, &[0xff, 0x50, 0x08], ALL),
    form(Kind::Return, &[0xc3], ALL),
    form(Kind::Return, &[0xf3, 0xc3], ALL),
    form(Kind::Return, &[0xf2, 0xc3], WIDE),
    form(Kind::Return, &[0xc2, 8, 0], ALL),
    only(false, Kind::Syscall, &[0x0f, 0x05], IN_64),
    only(false, Kind::Syscall, &[0x0f, 0x34], WIDE),
    only(true, Kind::ToUser, &[0x48, 0x0f, 0x07], IN_64),
    only(true, Kind::ToUser, &[0x0f, 0x07], IN_64),
    only(true, Kind::ToUser, &[0x0f, 0x35], IN_64),
    only(true, Kind::ToUser, &[0x48, 0x0f, 0x35], IN_64),
    only(true, Kind::Iret, &[0x48, 0xcf], IN_64),
    only(true, Kind::Iret, &[0xcf], IN_64),
    only(true, Kind::Eretu, &[0xf3, 0x0f, 0x01, 0xca], IN_64),
    only(true, Kind::Erets, &[0xf2, 0x0f, 0x01, 0xca], IN_64),
    only(true, Kind::VmEntry, &[0x0f, 0x01, 0xc2], IN_64),
    only(true, Kind::VmEntry, &[0x0f, 0x01, 0xc3], IN_64),
    only(false, Kind::UserIret, &[0xf3, 0x0f, 0x01, 0xec], IN_64),
    only(true, Kind::Rsm, &[0x0f, 0xaa], IN_64),
    only(false, Kind::Far, &[0xff, 0x28], ALL),
    only(false, Kind::Far, &[0xff, 0x18], ALL),
    only(false, Kind::Far, &[0xcb], ALL),
    only(false, Kind::Far, &[0x48, 0xcb], IN_64),
    only(false, Kind::Far, &[0xca, 4, 0], ALL),
    only(false, Kind::Far, &[0xea, 0x34, 0x12, 0, 0, 0x33, 0], IN_32),
    only(false, Kind::Far, &[0x9a, 0x34, 0x12, 0, 0, 0x33, 0], IN_32),
    only(false, Kind::Far, &[0xea, 0x34, 0x12, 0x33, 0], IN_16),
    form(Kind::SoftwareInterrupt, &[0xcc], ALL),
    form(Kind::SoftwareInterrupt, &[0xcd, 0x80], ALL),
    form(Kind::SoftwareInterrupt, &[0xf1], ALL),
    form(Kind::Fault, &[0x0f, 0x0b], ALL),
];

/// All forms of `kind` that exist in code of so many bits, in the kernel or outside of it.
pub(super) fn forms(kind: Kind, bits: u8, kernel: bool) -> Vec<Form> {
    let mode = match bits {
        16 => IN_16,
        32 => IN_32,
        _ => IN_64,
    };
    let fits = |form: &&Form| {
        form.kind == kind && form.modes & mode != 0 && form.privileged.is_none_or(|needed| needed == kernel)
    };
    FORMS.iter().filter(fits).copied().collect()
}
