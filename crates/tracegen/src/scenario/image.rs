//! Code images: what one `code` section assembles to.

use std::collections::BTreeMap;

use super::wrong::Wrong;
use crate::assembler::Assembled;

/// Whose code it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Backing {
    Kernel,
    /// Memory without a file, mapped into every process: code made at run time, of which only the names are written down.
    Jit,
    /// The same, with its bytes in a jitdump.
    JitDump,
    /// The same, with its bytes in a file of copies.
    Copied,
    /// A file at this path, mapped into every process.
    File(String),
}

/// One block of code at a fixed address.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) backing: Backing,
    pub(super) address: u64,
    pub(super) bits: u32,
    pub(super) bytes: Vec<u8>,
    /// When it comes to be there, in TSC ticks; what lay there before goes.
    pub(super) from: u64,
    /// Labels that do not begin with a dot, in order of address: the symbols.
    pub(super) symbols: Vec<(String, u64)>,
    /// From which address on the code is of which source file and line.
    pub(super) lines: Vec<(u64, String, u32)>,
}

impl Image {
    /// Each symbol with the address of the next one.
    pub(super) fn functions(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let end = self.address + self.bytes.len() as u64;
        let ends = self.symbols.iter().skip(1).map(|(_, next)| *next).chain([end]);
        self.symbols.iter().zip(ends).map(|((name, address), end)| (name.as_str(), *address, end))
    }

    pub(super) fn holds(&self, address: u64) -> bool {
        (self.address..self.address + self.bytes.len() as u64).contains(&address)
    }
}

/// An image whose jumps do not know their targets yet.
#[derive(Debug)]
pub(super) struct Unlinked {
    pub(super) image: Image,
    pub(super) picoseconds: u64,
    statements: Vec<(usize, u64, Assembled)>,
    end: u64,
}

impl Unlinked {
    /// An image that is there from `picoseconds` on.
    pub(super) fn new(backing: Backing, address: u64, bits: u32, picoseconds: u64) -> Unlinked {
        let image = Image {
            backing,
            address,
            bits,
            bytes: Vec::new(),
            from: 0,
            symbols: Vec::new(),
            lines: Vec::new(),
        };
        Unlinked { image, picoseconds, statements: Vec::new(), end: address }
    }

    /// Takes one line: labels; an instruction, `skip N` (a hole of int3), `times N` and instructions between semicolons, or `line FILE:N`.
    pub(super) fn line(
        &mut self,
        number: usize,
        text: &str,
        labels: &mut BTreeMap<String, u64>,
    ) -> Result<(), Wrong> {
        let mut rest = text.trim();
        while let Some((label, after)) = rest.split_once(':') {
            if label.contains(char::is_whitespace) {
                break;
            }
            if labels.insert(label.to_owned(), self.end).is_some() {
                return Err(Wrong::new(number, format!("label `{label}` stands twice")));
            }
            if !label.starts_with('.') {
                self.image.symbols.push((label.to_owned(), self.end));
            }
            rest = after.trim();
        }
        if rest.is_empty() {
            return Ok(());
        }
        if let Some(place) = rest.strip_prefix("line ") {
            let line = place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
            let (file, line) = line.ok_or_else(|| Wrong::new(number, "`line` needs FILE:NUMBER"))?;
            self.image.lines.push((self.end, file.to_owned(), line));
            return Ok(());
        }
        if let Some((count, body)) = rest.strip_prefix("times ").and_then(|rest| rest.split_once(' ')) {
            let count: u16 = count.parse().map_err(|_| Wrong::new(number, "`times` needs a number"))?;
            return (0..count)
                .flat_map(|_| body.split(';'))
                .try_for_each(|text| self.put(number, text.trim()));
        }
        self.put(number, rest)
    }

    /// Appends an instruction or a hole.
    fn put(&mut self, number: usize, text: &str) -> Result<(), Wrong> {
        let assembled = if let Some(count) = text.strip_prefix("skip ") {
            let count: u16 = count.trim().parse().map_err(|_| Wrong::new(number, "`skip` needs a number"))?;
            Assembled::filler(usize::from(count))
        } else {
            Assembled::parse(text).map_err(|what| Wrong::new(number, what))?
        };
        let size = assembled.bytes.len() as u64;
        self.statements.push((number, self.end, assembled));
        self.end += size;
        Ok(())
    }

    pub(super) fn link(mut self, labels: &BTreeMap<String, u64>) -> Result<Image, Wrong> {
        for (number, address, assembled) in &self.statements {
            let bytes = assembled.link(*address, labels).map_err(|what| Wrong::new(*number, what))?;
            self.image.bytes.extend(bytes);
        }
        Ok(self.image)
    }
}
