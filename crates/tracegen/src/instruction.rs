//! What an instruction does to the control flow, as far as PT cares.
//!
//! Input: code bytes and their address. Output: length, class and direct target.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction as Decoded, Mnemonic, OpKind, Register};

/// How an instruction hands on control, and which packets it may cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The next instruction follows.
    Plain,
    /// A conditional jump: one TNT bit.
    Conditional,
    /// A direct jump: no packet.
    Jump,
    /// A direct call: no packet.
    Call,
    /// TIP.
    IndirectJump,
    /// TIP.
    IndirectCall,
    /// TIP, or a taken TNT bit with return compression.
    Return,
    /// `syscall`, `sysenter`: TIP into the kernel.
    Syscall,
    /// `iret`, `sysret`, far jumps and calls: TIP.
    Far,
    /// `int3`, `int n`, `int1`, `into`: a FUP with its own address and a TIP.
    SoftwareInterrupt,
    /// `mov cr3, r`: PIP.
    PageTable,
    /// `ptwrite`: PTW and FUP.
    PtWrite,
    /// `mwait`: MWAIT and FUP.
    Mwait,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its address.
    pub ip: u64,
    /// Its bytes' number.
    pub length: u8,
    /// What it does.
    pub class: Class,
    /// Where a direct jump or call goes; 0 for all others.
    pub target: u64,
}

impl Instruction {
    /// Decodes the instruction at the front of `bytes`, which lies at `ip`; `bits` is 16, 32 or 64. `None` if it is none.
    pub fn decode(bytes: &[u8], ip: u64, bits: u32) -> Option<Instruction> {
        let decoded = Decoder::with_ip(bits, bytes, ip, DecoderOptions::NONE).decode();
        let length = u8::try_from(decoded.len()).ok()?;
        let target = if is_near(&decoded) { decoded.near_branch_target() } else { 0 };
        (!decoded.is_invalid()).then(|| Instruction { ip, length, class: class(&decoded), target })
    }

    /// Address of the instruction after it.
    pub fn next(&self) -> u64 {
        self.ip.wrapping_add(u64::from(self.length))
    }
}

fn is_near(decoded: &Decoded) -> bool {
    matches!(decoded.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64)
}

fn class(decoded: &Decoded) -> Class {
    let indirect_far = decoded.is_jmp_far_indirect() || decoded.is_call_far_indirect();
    match decoded.flow_control() {
        FlowControl::ConditionalBranch => Class::Conditional,
        FlowControl::UnconditionalBranch if is_near(decoded) => Class::Jump,
        FlowControl::Call if is_near(decoded) => Class::Call,
        FlowControl::Call => match decoded.mnemonic() {
            Mnemonic::Syscall | Mnemonic::Sysenter => Class::Syscall,
            Mnemonic::Call => Class::Far,
            // vmcall and its kin: control comes back.
            _ => Class::Plain,
        },
        FlowControl::IndirectBranch if !indirect_far => Class::IndirectJump,
        FlowControl::IndirectCall if !indirect_far => Class::IndirectCall,
        FlowControl::Return if matches!(decoded.mnemonic(), Mnemonic::Ret) => Class::Return,
        FlowControl::UnconditionalBranch
        | FlowControl::IndirectBranch
        | FlowControl::IndirectCall
        | FlowControl::Return => Class::Far,
        FlowControl::Interrupt => Class::SoftwareInterrupt,
        // xbegin, xend, xabort: an abort is asynchronous. ud2: faults, does not retire.
        FlowControl::XbeginXabortXend | FlowControl::Exception => Class::Plain,
        FlowControl::Next => plain_class(decoded),
    }
}

fn plain_class(decoded: &Decoded) -> Class {
    match decoded.mnemonic() {
        Mnemonic::Mov if decoded.op_count() > 0 && decoded.op0_register() == Register::CR3 => {
            Class::PageTable
        }
        Mnemonic::Ptwrite => Class::PtWrite,
        Mnemonic::Mwait => Class::Mwait,
        _ => Class::Plain,
    }
}
