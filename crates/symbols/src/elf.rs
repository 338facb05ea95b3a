//! An ELF file: where its bytes lie, who it is, and what symbols it has.
//!
//! Input: bytes of anything. Output: the loadable segments, build ID, debug link and symbols. Nothing of the file is
//! trusted: sizes are clipped to it, what cannot be read is left out. Format: System V ABI, chapters 4 and 5.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::BuildId;
use object::{
    Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags, SectionIndex, SymbolFlags, elf,
};

use crate::error::Error;
use crate::file_bytes::{FileBytes, Stored};
use crate::plt::{self, Stub};
use crate::python_methods;
use crate::symbol_table::{Binding, RawSymbol};
use crate::unpacking;
use crate::{go_functions, unwind_functions};

/// A part of the file that is loaded into memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadSegment {
    /// Stated addresses (SVMA) of the bytes that the file has.
    pub(crate) svma: Range<u64>,
    /// Position in the file of the first of them.
    pub(crate) file_offset: u64,
    /// Whether it is code.
    pub(crate) executable: bool,
}

impl LoadSegment {
    /// The bytes of the file that it loads.
    fn file_range(&self) -> Range<u64> {
        // Clipped to the file when it was read.
        self.file_offset..self.file_offset + (self.svma.end - self.svma.start)
    }

    /// Whether whole pages of the file, `mapped`, hold some of it.
    fn is_shown_by(&self, mapped: &Range<u64>) -> bool {
        let own = self.file_range();
        own.start < mapped.end && mapped.start < own.end
    }
}

/// A file that holds, or may hold, code.
#[derive(Debug)]
pub(crate) struct CodeFile {
    /// Where it lies on this machine.
    pub(crate) path: Arc<PathBuf>,
    /// Its bytes.
    pub(crate) bytes: Arc<FileBytes>,
    /// The loadable segments (`PT_LOAD`); empty where it is no ELF file.
    pub(crate) segments: Vec<LoadSegment>,
    /// Its identity.
    pub(crate) build_id: Option<BuildId>,
    /// Whether it names a separate debug file.
    pub(crate) has_debug_link: bool,
    /// `false` for a separate debug file: it has the addresses but not the bytes of the code.
    pub(crate) has_code: bool,
    /// Which file of this machine it is; `None` for bytes that came another way.
    pub(crate) stored: Option<Stored>,
}

impl CodeFile {
    /// Opens the file at `path`. A file that is no ELF is taken as plain bytes.
    ///
    /// # Errors
    /// [`Error::Unreadable`] where it cannot be opened, [`Error::DamagedElf`] where it says that it is ELF but is not
    /// readable as such.
    pub(crate) fn open(path: &Path) -> Result<CodeFile, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let (bytes, stored) = FileBytes::open_stored(path).map_err(unreadable)?;
        let file = CodeFile::of(Arc::new(path.to_owned()), Arc::new(bytes))?;
        Ok(CodeFile { stored: Some(stored), ..file })
    }

    /// The same for bytes that are there already.
    pub(crate) fn of(path: Arc<PathBuf>, bytes: Arc<FileBytes>) -> Result<CodeFile, Error> {
        let mut file = CodeFile {
            path,
            bytes,
            segments: Vec::new(),
            build_id: None,
            has_debug_link: false,
            has_code: true,
            stored: None,
        };
        if file.bytes.starts_with(&elf::ELFMAG) {
            let bytes = Arc::clone(&file.bytes);
            let parsed = object::File::parse(&bytes[..]).map_err(|error| damaged(&file.path, error))?;
            file.read_layout(&parsed);
        }
        Ok(file)
    }

    /// The same file, whose stated addresses are the offsets in it.
    pub(crate) fn flat(mut self) -> CodeFile {
        let svma = 0..self.bytes.len() as u64;
        self.segments = vec![LoadSegment { svma, file_offset: 0, executable: true }];
        self
    }

    fn read_layout(&mut self, parsed: &object::File<'_>) {
        let length = self.bytes.len() as u64;
        self.segments = parsed.segments().filter_map(|segment| layout_of(&segment, length)).collect();
        self.build_id = parsed.build_id().ok().flatten().and_then(BuildId::new);
        self.has_debug_link = parsed.gnu_debuglink().is_ok_and(|link| link.is_some());
        let mut code = parsed.sections().filter(|section| is_code(section.flags())).peekable();
        self.has_code = code.peek().is_none() || code.any(|section| section.file_range().is_some());
    }

    /// The stated address (SVMA) of the byte at `file_offset`, seen through a mapping of the file range `mapped`.
    ///
    /// A byte of a page that two segments share is mapped twice, at two stated addresses (lld does so): code is meant.
    pub(crate) fn svma(&self, file_offset: u64, mapped: &Range<u64>) -> Option<u64> {
        let code = self.segments.iter().filter(|segment| segment.executable);
        let meant = code.clone().find(|segment| segment.file_range().contains(&file_offset));
        let meant = meant.or_else(|| code.clone().find(|segment| segment.is_shown_by(mapped)));
        let segment =
            meant.or_else(|| self.segments.iter().find(|s| s.file_range().contains(&file_offset)))?;
        Some(file_offset.wrapping_sub(segment.file_offset).wrapping_add(segment.svma.start))
    }

    /// The inverse of [`Self::svma`]; `None` where the mapping does not show the byte.
    pub(crate) fn file_offset(&self, svma: u64, mapped: &Range<u64>) -> Option<u64> {
        let segment = self.segments.iter().find(|segment| segment.svma.contains(&svma))?;
        let file_offset = svma - segment.svma.start + segment.file_offset;
        (mapped.contains(&file_offset) && self.svma(file_offset, mapped) == Some(svma)).then_some(file_offset)
    }

    /// The functions of its symbol table.
    pub(crate) fn symbols(&self) -> Vec<RawSymbol> {
        self.listed(|parsed| parsed.symbols(), function_of)
    }

    /// The functions that it exports or imports: all that a stripped file says.
    pub(crate) fn dynamic_symbols(&self) -> Vec<RawSymbol> {
        self.listed(|parsed| parsed.dynamic_symbols(), function_of)
    }

    /// The variables of its symbol table.
    pub(crate) fn variables(&self) -> Vec<RawSymbol> {
        self.listed(|parsed| parsed.symbols(), variable_of)
    }

    /// The variables that it exports.
    pub(crate) fn dynamic_variables(&self) -> Vec<RawSymbol> {
        self.listed(|parsed| parsed.dynamic_symbols(), variable_of)
    }

    /// The functions of a Go program, by its runtime's own table.
    pub(crate) fn go_functions(&self) -> Vec<RawSymbol> {
        object::File::parse(&self.bytes[..])
            .map_or_else(|_| Vec::new(), |parsed| go_functions::functions(&parsed, &self.bytes))
    }

    /// The stubs through which it calls other files' functions.
    pub(crate) fn stubs(&self) -> Vec<Stub> {
        object::File::parse(&self.bytes[..]).map_or_else(|_| Vec::new(), |parsed| plt::stubs(&parsed))
    }

    /// The functions that neither `symbols` nor `stubs` name, by its unwind tables, and by name where they are methods
    /// of Python's; `name` is the file's.
    pub(crate) fn unnamed_functions(&self, name: &str, symbols: &[RawSymbol], stubs: &[Stub]) -> Vec<Stub> {
        let Ok(parsed) = object::File::parse(&self.bytes[..]) else { return Vec::new() };
        // One without size is there, too.
        let of_symbols = symbols.iter().map(|symbol| {
            let name = self.bytes.get(symbol.name.clone()).unwrap_or_default();
            let range = symbol.start..symbol.start.saturating_add(symbol.size.max(1));
            (range, std::str::from_utf8(name).unwrap_or_default())
        });
        let named = of_symbols.chain(stubs.iter().map(|(range, name)| (range.clone(), &**name)));
        let mut found = unwind_functions::functions(&parsed, name, named.collect());
        let methods = python_methods::names(&parsed, &found.iter().map(|(range, _)| range.start).collect());
        for (range, name) in &mut found {
            if let Some(method) = methods.get(&range.start) {
                name.clone_from(method);
            }
        }
        found
    }

    /// The symbols of `list` that `take` wants.
    fn listed<'a>(
        &'a self,
        list: impl for<'f> Fn(&'f object::File<'a>) -> object::SymbolIterator<'a, 'f>,
        take: fn(&object::Symbol<'_, '_>, &[bool], &[u8]) -> Option<RawSymbol>,
    ) -> Vec<RawSymbol> {
        let bytes = &self.bytes[..];
        if !bytes.starts_with(&elf::ELFMAG) {
            return Vec::new();
        }
        let Ok(parsed) = object::File::parse(bytes) else { return Vec::new() };
        let code = code_sections(&parsed);
        list(&parsed).filter_map(|symbol| take(&symbol, &code, bytes)).collect()
    }

    /// Where the symbol `name` lies (SVMA).
    pub(crate) fn symbol(&self, name: &str) -> Option<u64> {
        let parsed = object::File::parse(&self.bytes[..]).ok()?;
        parsed.symbols().find(|symbol| symbol.name() == Ok(name)).map(|symbol| symbol.address())
    }

    /// Whether it is an ELF file with code to run: a program, a library, the vDSO.
    pub(crate) fn is_executable_image(&self) -> bool {
        self.bytes.starts_with(&elf::ELFMAG) && self.segments.iter().any(|segment| segment.executable)
    }

    /// Whether its compressed sections unpack to no more than is allowed.
    pub(crate) fn unpacks_within_bounds(&self) -> bool {
        object::File::parse(&self.bytes[..]).is_ok_and(|parsed| unpacking::is_within_bounds(&parsed))
    }

    /// The debug file that it names: the file's name and the CRC of its contents (`.gnu_debuglink`).
    pub(crate) fn debug_link(&self) -> Option<(PathBuf, u32)> {
        let parsed = object::File::parse(&self.bytes[..]).ok()?;
        let (name, crc) = parsed.gnu_debuglink().ok().flatten()?;
        Some((PathBuf::from(OsStr::from_bytes(name)), crc))
    }

    /// Whether it has source lines.
    pub(crate) fn has_lines(&self) -> bool {
        object::File::parse(&self.bytes[..])
            .is_ok_and(|parsed| parsed.section_by_name(".debug_info").is_some())
    }
}

/// Whether two build IDs mean the same build. Old versions of perf write IDs of other lengths padded with zeros to 20 bytes.
pub(crate) fn same_build(a: &BuildId, b: &BuildId) -> bool {
    let (short, long) = if a.bytes().len() <= b.bytes().len() { (a, b) } else { (b, a) };
    let (start, padding) = long.bytes().split_at(short.bytes().len());
    start == short.bytes() && padding.iter().all(|&byte| byte == 0)
}

fn damaged(path: &Path, error: object::Error) -> Error {
    Error::DamagedElf { path: path.to_owned(), what: error.to_string() }
}

fn layout_of(segment: &object::Segment<'_, '_>, length: u64) -> Option<LoadSegment> {
    let (file_offset, size) = segment.file_range();
    let size = size.min(segment.size()).min(length.checked_sub(file_offset)?);
    let start = segment.address();
    let executable = match segment.flags() {
        object::SegmentFlags::Elf { p_flags, .. } => p_flags.0 & elf::PF_X.0 != 0,
        _ => false,
    };
    let end = start.checked_add(size)?;
    (start < end).then_some(LoadSegment { svma: start..end, file_offset, executable })
}

fn is_code(flags: SectionFlags) -> bool {
    matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & elf::SHF_EXECINSTR.0 != 0)
}

/// By section number: whether it holds code.
fn code_sections(parsed: &object::File<'_>) -> Vec<bool> {
    let mut code = Vec::new();
    for section in parsed.sections() {
        let SectionIndex(index) = section.index();
        if index >= code.len() {
            code.resize(index + 1, false);
        }
        code[index] = is_code(section.flags());
    }
    code
}

/// What perf takes for a function: typed as one, or a visible label in a code section.
fn function_of(symbol: &object::Symbol<'_, '_>, code: &[bool], file: &[u8]) -> Option<RawSymbol> {
    let SymbolFlags::Elf { st_info, st_other } = symbol.flags() else { return None };
    let is_visible = matches!(st_other.visibility(), elf::STV_DEFAULT | elf::STV_PROTECTED);
    let takes = match st_info.st_type() {
        elf::STT_FUNC | elf::STT_GNU_IFUNC => true,
        elf::STT_NOTYPE => is_visible,
        _ => false,
    };
    let SectionIndex(section) = symbol.section_index()?;
    (takes && code.get(section).copied().unwrap_or(false)).then(|| raw_symbol(symbol, file))?
}

/// A variable of a section without code. Those of threads lie elsewhere in each (`STT_TLS`).
fn variable_of(symbol: &object::Symbol<'_, '_>, code: &[bool], file: &[u8]) -> Option<RawSymbol> {
    let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { return None };
    let SectionIndex(section) = symbol.section_index()?;
    let is_variable = st_info.st_type() == elf::STT_OBJECT && symbol.size() > 0;
    (is_variable && !code.get(section).copied().unwrap_or(false)).then(|| raw_symbol(symbol, file))?
}

/// `symbol`, whose name lies in `file`; `None` for one without a name.
fn raw_symbol(symbol: &object::Symbol<'_, '_>, file: &[u8]) -> Option<RawSymbol> {
    let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { return None };
    let name = symbol.name_bytes().ok().filter(|name| !name.is_empty() && !name.starts_with(b"$"))?;
    let at = (name.as_ptr() as usize).checked_sub(file.as_ptr() as usize)?;
    let binding = match st_info.st_bind() {
        elf::STB_WEAK => Binding::Weak,
        elf::STB_LOCAL => Binding::Local,
        _ => Binding::Global,
    };
    Some(RawSymbol { start: symbol.address(), size: symbol.size(), name: at..at + name.len(), binding })
}

#[cfg(test)]
mod tests;
