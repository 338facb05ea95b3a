//! Code bytes to text, for people.
//!
//! AT&T syntax, as `objdump` and `perf annotate` print by default. Bytes that capstone 5 does not know print as `(bad)`,
//! one at a time as `objdump` does: AVX512-FP16, AMX, UIRET and other user interrupts. Decoding for analysis is not done
//! with this: it is far too slow.

use capstone::arch::x86::{ArchMode, ArchSyntax};
use capstone::arch::{BuildsCapstone, BuildsCapstoneSyntax};
use capstone::{Capstone, Insn};
use model::{CodeBytes, Pid, Tsc};

use super::ProcessImages;

/// The longest x86 instruction.
const LONGEST_INSTRUCTION: usize = 15;

/// More than anybody reads at once; a larger count is cut to this.
const MOST_INSTRUCTIONS: usize = 64 * 1024;

/// An instruction in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instruction {
    /// Where it stands (AVMA).
    pub address: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its text: mnemonic and operands; `(bad)` for a byte that is none.
    pub text: String,
}

impl ProcessImages {
    /// At most `count` instructions from `address` on, as the code was at `at`. Fewer where the known code ends. Takes
    /// the code as 64-bit.
    pub fn disassemble(&self, pid: Pid, address: u64, at: Tsc, count: usize) -> Vec<Instruction> {
        let count = count.min(MOST_INSTRUCTIONS);
        let mut code = vec![0; count * LONGEST_INSTRUCTION];
        let known = self.read(pid, address, at, &mut code);
        code.truncate(known);
        disassemble(&code, address, count)
    }
}

/// At most `count` instructions of `code`, which stands at `address`.
fn disassemble(code: &[u8], address: u64, count: usize) -> Vec<Instruction> {
    let decoder = Capstone::new().x86().mode(ArchMode::Mode64).syntax(ArchSyntax::Att).build();
    let Ok(decoder) = decoder else { return Vec::new() };
    let mut instructions = Vec::new();
    let mut position = 0;
    while position < code.len() && instructions.len() < count {
        let at = address.wrapping_add(position as u64);
        let rest = &code[position..];
        let instruction = fred_return(rest, at).or_else(|| first(&decoder, rest, at)).unwrap_or_else(|| {
            Instruction { address: at, bytes: rest[..1].to_vec(), text: "(bad)".to_owned() }
        });
        position += instruction.bytes.len();
        instructions.push(instruction);
    }
    instructions
}

fn first(decoder: &Capstone, code: &[u8], address: u64) -> Option<Instruction> {
    let window = &code[..code.len().min(LONGEST_INSTRUCTION)];
    let found = decoder.disasm_count(window, address, 1).ok()?;
    let insn = found.iter().next()?;
    Some(Instruction { address, bytes: insn.bytes().to_vec(), text: text(insn) })
}

fn text(insn: &Insn<'_>) -> String {
    match (insn.mnemonic(), insn.op_str()) {
        (Some(mnemonic), Some(operands)) if !operands.is_empty() => format!("{mnemonic} {operands}"),
        (Some(mnemonic), _) => mnemonic.to_owned(),
        (None, _) => "(bad)".to_owned(),
    }
}

/// Capstone takes the returns of FRED for `clac`.
fn fred_return(code: &[u8], address: u64) -> Option<Instruction> {
    let text = match code {
        [0xf2, 0x0f, 0x01, 0xca, ..] => "erets",
        [0xf3, 0x0f, 0x01, 0xca, ..] => "eretu",
        _ => return None,
    };
    Some(Instruction { address, bytes: code[..4].to_vec(), text: text.to_owned() })
}

#[cfg(test)]
mod tests;
