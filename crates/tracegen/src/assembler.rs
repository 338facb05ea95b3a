//! Assembles the few instructions that scenarios are written in.
//!
//! Input: lines of a small Intel syntax, labels. Output: bytes at a fixed address, addresses of labels.
//! Jumps and calls take 4 displacement bytes, with `short` one: the size never depends on the distance.
//! Source: Intel SDM vol. 2.

use std::collections::BTreeMap;

/// Instructions without operands, or with one fixed choice of them.
const FIXED: &[(&str, &[u8])] = &[
    ("nop", &[0x90]),
    ("nop5", &[0x0f, 0x1f, 0x44, 0x00, 0x00]),
    ("pause", &[0xf3, 0x90]),
    ("push rax", &[0x50]),
    ("pop rax", &[0x58]),
    ("dec ecx", &[0xff, 0xc9]),
    ("inc ecx", &[0xff, 0xc1]),
    ("mov eax, [rsi]", &[0x8b, 0x06]),
    ("mov [rdi], eax", &[0x89, 0x07]),
    ("cmp eax, [rsi]", &[0x3b, 0x06]),
    ("test eax, eax", &[0x85, 0xc0]),
    ("rep movsb", &[0xf3, 0xa4]),
    ("ret", &[0xc3]),
    ("ret 8", &[0xc2, 0x08, 0x00]),
    ("jmp rax", &[0xff, 0xe0]),
    ("call rax", &[0xff, 0xd0]),
    ("syscall", &[0x0f, 0x05]),
    ("sysret", &[0x48, 0x0f, 0x07]),
    ("iret", &[0x48, 0xcf]),
    ("iretd", &[0xcf]),
    ("eretu", &[0xf3, 0x0f, 0x01, 0xca]),
    ("erets", &[0xf2, 0x0f, 0x01, 0xca]),
    ("swapgs", &[0x0f, 0x01, 0xf8]),
    ("int3", &[0xcc]),
    ("ud2", &[0x0f, 0x0b]),
    ("hlt", &[0xf4]),
    ("monitor", &[0x0f, 0x01, 0xc8]),
    ("mwait", &[0x0f, 0x01, 0xc9]),
    ("mov cr3, rax", &[0x0f, 0x22, 0xd8]),
    ("wrmsr", &[0x0f, 0x30]),
    ("rdtsc", &[0x0f, 0x31]),
    ("cpuid", &[0x0f, 0xa2]),
    ("lfence", &[0x0f, 0xae, 0xe8]),
    ("ptwrite rax", &[0xf3, 0x48, 0x0f, 0xae, 0xe0]),
    ("xend", &[0x0f, 0x01, 0xd5]),
];

/// Instructions with a label: opcode with 4 displacement bytes, opcode with one (empty: none exists).
const WITH_LABEL: &[(&str, &[u8], &[u8])] = &[
    ("jmp", &[0xe9], &[0xeb]),
    ("jz", &[0x0f, 0x84], &[0x74]),
    ("jnz", &[0x0f, 0x85], &[0x75]),
    ("jc", &[0x0f, 0x82], &[0x72]),
    ("jnc", &[0x0f, 0x83], &[0x73]),
    ("loop", &[], &[0xe2]),
    ("call", &[0xe8], &[]),
    ("xbegin", &[0xc7, 0xf8], &[]),
];

/// One assembled statement: bytes, and what is still to be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assembled {
    pub(crate) bytes: Vec<u8>,
    /// Label, and how many bytes at the end hold the displacement to it.
    displacement: Option<(String, usize)>,
}

impl Assembled {
    /// Assembles one instruction, or `db` with bytes.
    ///
    /// # Errors
    /// What is not understood, in words.
    pub(crate) fn parse(text: &str) -> Result<Assembled, String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((_, bytes)) = FIXED.iter().find(|(name, _)| *name == text) {
            return Ok(Assembled { bytes: bytes.to_vec(), displacement: None });
        }
        let (name, operand) = text.split_once(' ').unwrap_or((&text, ""));
        if name == "db" {
            return parse_bytes(operand);
        }
        if let Some(number) = text.strip_prefix("mov ecx, ") {
            let number: u32 = number.parse().map_err(|_| format!("`{number}` is no number"))?;
            let bytes = [&[0xb9], &number.to_le_bytes()[..]].concat();
            return Ok(Assembled { bytes, displacement: None });
        }
        let Some((_, near, short)) = WITH_LABEL.iter().find(|(known, ..)| *known == name) else {
            return Err(format!("the assembler does not know `{text}`; `db` takes bytes"));
        };
        let (label, opcode, size) = match operand.strip_prefix("short ") {
            Some(label) => (label, short, 1),
            None if near.is_empty() => (operand, short, 1),
            None => (operand, near, 4),
        };
        if opcode.is_empty() || label.is_empty() {
            return Err(format!("`{text}`: no such form, or no label"));
        }
        let bytes = [opcode, &[0; 4][..size]].concat();
        Ok(Assembled { bytes, displacement: Some((label.to_owned(), size)) })
    }

    /// So many bytes of `int3`.
    pub(crate) fn filler(count: usize) -> Assembled {
        Assembled { bytes: vec![0xcc; count], displacement: None }
    }

    /// The bytes for this instruction at `ip`.
    ///
    /// # Errors
    /// An unknown label, or one out of reach.
    pub(crate) fn link(&self, ip: u64, labels: &BTreeMap<String, u64>) -> Result<Vec<u8>, String> {
        let mut bytes = self.bytes.clone();
        if let Some((label, size)) = &self.displacement {
            let target = labels.get(label).ok_or_else(|| format!("no label `{label}`"))?;
            let distance = target.wrapping_sub(ip.wrapping_add(bytes.len() as u64)).cast_signed();
            let reach = 1i64 << (8 * size - 1);
            if !(-reach..reach).contains(&distance) {
                return Err(format!("`{label}` is out of reach"));
            }
            let at = bytes.len() - size;
            bytes[at..].copy_from_slice(&distance.to_le_bytes()[..*size]);
        }
        Ok(bytes)
    }
}

fn parse_bytes(operand: &str) -> Result<Assembled, String> {
    let byte = |text: &str| u8::from_str_radix(text.trim_start_matches("0x"), 16);
    let bytes =
        operand.split([' ', ',']).filter(|text| !text.is_empty()).map(byte).collect::<Result<Vec<_>, _>>();
    match bytes {
        Ok(bytes) if !bytes.is_empty() => Ok(Assembled { bytes, displacement: None }),
        _ => Err(format!("`db {operand}`: bytes in hexadecimal, please")),
    }
}
