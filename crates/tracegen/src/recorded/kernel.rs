//! Cuts the guest's copy of its kernel down to what was executed.
//!
//! Input: `kcore` and `kallsyms` as perf copied them, and the executed blocks. Output: the same files with every page zeroed that holds no
//! executed code, and without the symbols of those pages. The program headers stay as they are: several would break perf 6.1.
//! Invariant: the copy holds, at each executed address, the bytes that were executed; where the kernel changed its code during the log no
//! copy can, and that is an error.
//! Source: ELF-64 Object File Format.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::block::Blocks;
use crate::error::Error;

const PAGE: u64 = 4096;

/// The lowest address of the kernel.
const KERNEL: u64 = 1 << 63;

/// perf finds the kernel's place by these.
const ALWAYS: [&str; 4] = ["_stext", "_text", "_etext", "__switch_to"];

/// A loadable piece: address, offset in the file, size.
struct KcoreSegment {
    address: u64,
    offset: usize,
    size: u64,
}

/// Writes the trimmed `kcore`, `kallsyms` and the unchanged `modules` of `from` into `to`.
///
/// # Errors
/// [`Error::File`]; [`Error::Capture`] if `kcore` is no ELF file that holds the executed code.
pub(super) fn trim(from: &Path, to: &Path, blocks: &Blocks) -> Result<(), Error> {
    std::fs::create_dir_all(to).map_err(Error::file(to))?;
    let code = executed_bytes(blocks, &from.join("kcore"))?;
    let symbols = read(&from.join("kallsyms"))?;
    let symbols = String::from_utf8_lossy(&symbols);
    let mut pages: BTreeSet<u64> = code.keys().map(|address| address / PAGE).collect();
    // Decoders read ahead a little.
    let ahead: Vec<u64> = code.keys().map(|address| (address + 15) / PAGE).collect();
    pages.extend(ahead);
    pages
        .extend(symbols.lines().filter_map(symbol).filter(|symbol| symbol.1 == "_stext").map(|s| s.0 / PAGE));
    write(&to.join("kcore"), &trim_image(&from.join("kcore"), &pages, &code)?)?;
    write(&to.join("kallsyms"), trim_symbols(&symbols, &pages).as_bytes())?;
    write(&to.join("modules"), &read(&from.join("modules"))?)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(Error::file(path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(Error::file(path))
}

/// All executed bytes of the kernel by address.
fn executed_bytes(blocks: &Blocks, path: &Path) -> Result<BTreeMap<u64, u8>, Error> {
    let mut bytes = BTreeMap::new();
    for block in blocks.executed().filter(|block| block.address() >= KERNEL) {
        for (address, &byte) in (block.address()..).zip(&block.code) {
            if bytes.insert(address, byte).is_some_and(|before| before != byte) {
                let what = "the kernel changed code at this address during the log: make the capture anew";
                return Err(Error::Capture { path: path.to_owned(), offset: address, what });
            }
        }
    }
    Ok(bytes)
}

fn trim_image(path: &Path, pages: &BTreeSet<u64>, code: &BTreeMap<u64, u8>) -> Result<Vec<u8>, Error> {
    let image = read(path)?;
    let wrong = |what| Error::Capture { path: path.to_owned(), offset: 0, what };
    let segments = segments(&image).ok_or_else(|| wrong("no ELF file with program headers"))?;
    let mut out = vec![0; image.len()];
    let head = image.len().min(PAGE as usize);
    out[..head].copy_from_slice(&image[..head]);
    let place = |address: u64| {
        let segment = segments.iter().find(|s| address.wrapping_sub(s.address) < s.size)?;
        Some(segment.offset + (address - segment.address) as usize)
    };
    for page in pages {
        let Some(at) = place(page * PAGE) else { continue };
        let end = (at + PAGE as usize).min(image.len());
        if let (Some(to), Some(from)) = (out.get_mut(at..end), image.get(at..end)) {
            to.copy_from_slice(from);
        }
    }
    for (&address, &byte) in code {
        let byte_in_copy = place(address).and_then(|at| out.get_mut(at));
        *byte_in_copy.ok_or_else(|| wrong("executed code that the copy lacks"))? = byte;
    }
    Ok(out)
}

fn segments(image: &[u8]) -> Option<Vec<KcoreSegment>> {
    let word = |at: usize| Some(u64::from_le_bytes(image.get(at..at + 8)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_le_bytes(image.get(at..at + 2)?.try_into().ok()?));
    let (headers, count) = (usize::try_from(word(32)?).ok()?, usize::from(half(56)?));
    let segment = |number: usize| {
        let at = headers.checked_add(number * 56)?;
        let offset = usize::try_from(word(at + 8)?).ok()?;
        let size = word(at + 32)?;
        let inside = offset.checked_add(usize::try_from(size).ok()?)? <= image.len();
        inside.then_some(KcoreSegment { address: word(at + 16)?, offset, size })
    };
    image.starts_with(b"\x7fELF").then(|| (0..count).map(segment).collect::<Option<Vec<_>>>())?
}

/// Address and name of a line of `kallsyms`, if it is code.
fn symbol(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
    is_code.then_some((address, words.next()?))
}

fn trim_symbols(symbols: &str, pages: &BTreeSet<u64>) -> String {
    let mut out = String::new();
    for line in symbols.lines() {
        let Some((address, name)) = symbol(line) else { continue };
        if pages.contains(&(address / PAGE)) || ALWAYS.contains(&name) {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}
