//! A DSO as the recording names it, and the file on this machine that stands for it.
//!
//! Input: recorded path and build ID. Output: code bytes, symbols and lines, each looked for when first requested.
//! A file whose build ID is not the recorded one is refused: a wrong binary decodes into nonsense.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use model::{BuildId, Diagnostic, InodeId};

use crate::debug_file;
use crate::demangle::nim;
use crate::elf::{CodeFile, same_build};
use crate::error::Error;
use crate::frame::Frame;
use crate::jitdump::lines::CodeLines;
use crate::jitdump::{self, Dump};
use crate::lines::Lines;
use crate::search::SearchPath;
use crate::sources::Sources;
use crate::symbol_table::{RawSymbol, SymbolTable};
use crate::unpacking;

/// What a recorded name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ImageKind {
    /// A file of the file system.
    File,
    /// The kernel's page of user code.
    Vdso,
    /// Memory without a file: heap, stack, JIT code.
    Anonymous,
    /// JIT code that its runtime wrote into a dump.
    JitDump,
    /// The kernel or a module of it.
    Kernel,
}

impl ImageKind {
    /// What `path` stands for, by the kernel's and perf's ways to write it (`perf_event_mmap_event`, `util/map.c`).
    pub(crate) fn of(path: &str, in_kernel: bool) -> ImageKind {
        let anonymous = [
            "//anon",
            "/anon_hugepage",
            "/dev/zero",
            "/memfd:",
            "/SYSV",
            "anon_inode:",
            "[anon",
            "/i915",
            "/dmabuf:",
        ];
        if in_kernel {
            ImageKind::Kernel
        } else if path == "[vdso]" {
            ImageKind::Vdso
        } else if path.is_empty()
            || path.starts_with('[')
            || anonymous.iter().any(|start| path.starts_with(start))
        {
            ImageKind::Anonymous
        } else if jitdump::is_path(path) {
            ImageKind::JitDump
        } else {
            ImageKind::File
        }
    }
}

/// What shows that a file of this machine is the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Identity {
    /// Both have the same build ID.
    BuildId,
    /// It lies beneath `--symfs`: whoever gave that vouches for it; or it belongs to the capture.
    Given,
    /// It is the same file of the same device, by device, inode and generation of its MMAP2 records; or by device and inode, and it was
    /// not changed since it was mapped ([`SearchPath::mapped_since`]).
    Inode,
    /// Nothing but its name.
    Unknown,
}

/// A DSO.
#[derive(Debug)]
pub(crate) struct Image {
    /// As recorded.
    pub(crate) name: Arc<str>,
    pub(crate) kind: ImageKind,
    build_id: Option<BuildId>,
    inodes: Inodes,
    found: OnceLock<Search>,
    debug_file: OnceLock<Option<CodeFile>>,
    symbols: OnceLock<Option<SymbolTable>>,
    variables: OnceLock<Option<SymbolTable>>,
    lines: OnceLock<Option<Lines>>,
    jit_lines: OnceLock<Option<CodeLines>>,
    /// Whose its functions are.
    pub(crate) sources: Sources,
    /// Whether its code was requested and not there.
    missed: AtomicBool,
    /// Whether it was seen to run.
    ran: AtomicBool,
}

/// The files that a DSO's mappings were of, by number: any, none or one; more is as good as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inodes {
    Unknown,
    One(InodeId),
    Several,
}

#[derive(Debug)]
struct Search {
    file: Option<CodeFile>,
    /// Files that were there but could not be used.
    refused: Vec<Error>,
}

impl Image {
    /// The DSO recorded as `name`; nothing is opened yet.
    pub(crate) fn new(name: &str, kind: ImageKind, build_id: Option<BuildId>) -> Image {
        Image {
            name: name.into(),
            kind,
            build_id,
            inodes: Inodes::Unknown,
            found: OnceLock::new(),
            debug_file: OnceLock::new(),
            symbols: OnceLock::new(),
            variables: OnceLock::new(),
            lines: OnceLock::new(),
            jit_lines: OnceLock::new(),
            sources: Sources::default(),
            missed: AtomicBool::new(false),
            ran: AtomicBool::new(false),
        }
    }

    /// Notes which file one of its mappings was of.
    pub(crate) fn note_inode(&mut self, inode: Option<InodeId>) {
        let Some(inode) = inode else { return };
        self.inodes = match self.inodes {
            Inodes::Unknown => Inodes::One(inode),
            Inodes::One(known) if known == inode => return,
            // perf's own record of a file that the kernel recorded, too.
            Inodes::One(known) if is_same_but_for_generation(known, inode) => {
                let generation = known.generation.max(inode.generation);
                let is_one = known.generation.min(inode.generation) == 0;
                if is_one { Inodes::One(InodeId { generation, ..known }) } else { Inodes::Several }
            }
            _ => Inodes::Several,
        };
    }

    /// Notes that the recording says that it ran.
    pub(crate) fn note_ran(&self) {
        // Most blocks are of a DSO that ran before: no write, so that threads do not wait for one another.
        if !self.ran.load(Ordering::Relaxed) {
            self.ran.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it was seen to run.
    pub(crate) fn has_run(&self) -> bool {
        self.ran.load(Ordering::Relaxed)
    }

    /// What shows that the file that serves for it is the recorded one.
    pub(crate) fn identity(&self, file: &CodeFile, search: &SearchPath) -> Identity {
        let is_same_inode = || {
            let (Inodes::One(recorded), Some(file)) = (self.inodes, file.stored) else { return false };
            let is_unchanged = || search.mapped_since.is_some_and(|since| file.changed <= since);
            recorded == file.inode
                || recorded.generation == 0
                    && is_same_but_for_generation(recorded, file.inode)
                    && is_unchanged()
        };
        if self.build_id.is_some() {
            // Checked before the file was taken.
            Identity::BuildId
        } else if search.is_given(&file.path) {
            Identity::Given
        } else if is_same_inode() {
            Identity::Inode
        } else {
            Identity::Unknown
        }
    }

    /// The file that holds its code.
    pub(crate) fn code(&self, search: &SearchPath) -> Option<&CodeFile> {
        self.found.get_or_init(|| self.find(search)).file.as_ref()
    }

    /// As recorded.
    pub(crate) fn build_id(&self) -> Option<&BuildId> {
        self.build_id.as_ref()
    }

    /// The files that were opened for it so far: its own, and its debug file.
    pub(crate) fn opened(&self) -> Option<(&CodeFile, Option<&CodeFile>)> {
        let own = self.found.get()?.file.as_ref()?;
        Some((own, self.debug_file.get().and_then(Option::as_ref)))
    }

    /// Notes that its code was needed.
    pub(crate) fn miss(&self) {
        self.missed.store(true, Ordering::Relaxed);
    }

    /// Its functions: of its own symbol table, else of its debug file's, else what it exports.
    pub(crate) fn symbols(&self, search: &SearchPath) -> Option<&SymbolTable> {
        self.symbols.get_or_init(|| self.read_symbols(search)).as_ref()
    }

    /// Its variables, from where [`Self::symbols`] come from.
    pub(crate) fn variables(&self, search: &SearchPath) -> Option<&SymbolTable> {
        self.variables.get_or_init(|| self.read_variables(search)).as_ref()
    }

    /// The source lines at a stated address, innermost function first; none where nothing is known.
    pub(crate) fn frames_at(&self, search: &SearchPath, svma: u64) -> Vec<Frame> {
        if self.kind == ImageKind::JitDump {
            let open = || CodeLines::open(&self.code(search)?.bytes);
            return self.jit_lines.get_or_init(open).as_ref().map_or_else(Vec::new, |lines| lines.at(svma));
        }
        let mut frames = self.lines(search).map_or_else(Vec::new, |lines| lines.at(svma));
        if self.symbols(search).is_some_and(SymbolTable::is_of_nim) {
            for frame in &mut frames {
                if let Some(plain) = nim::demangle(&frame.function) {
                    frame.function = plain;
                }
            }
        }
        frames
    }

    /// Its line tables: its own, else its debug file's.
    pub(crate) fn lines(&self, search: &SearchPath) -> Option<&Lines> {
        let open = || {
            Lines::open(self.code(search)?, search).or_else(|| Lines::open(self.debug_file(search)?, search))
        };
        self.lines.get_or_init(open).as_ref()
    }

    fn read_symbols(&self, search: &SearchPath) -> Option<SymbolTable> {
        let file = self.code(search)?;
        if self.kind == ImageKind::JitDump {
            let functions = jitdump::functions(&file.bytes);
            return (!functions.is_empty()).then(|| SymbolTable::new(Arc::clone(&file.bytes), functions));
        }
        let mut source = file;
        let mut symbols = file.symbols();
        if let Some(debug_file) = symbols.is_empty().then(|| self.debug_file(search)).flatten() {
            source = debug_file;
            symbols = debug_file.symbols();
        }
        // The stubs stand in the binary, whoever has the symbols.
        let mut stubs = file.stubs();
        if symbols.is_empty() {
            source = file;
            symbols = file.dynamic_symbols();
            symbols.extend(file.go_functions());
            stubs.extend(file.unnamed_functions(self.base_name(), &symbols, &stubs));
        }
        if symbols.is_empty() && stubs.is_empty() {
            return None;
        }
        Some(SymbolTable::with_stubs(Arc::clone(&source.bytes), symbols, stubs))
    }

    fn read_variables(&self, search: &SearchPath) -> Option<SymbolTable> {
        let file = self.code(search)?;
        let of = |file: &CodeFile, variables: Vec<RawSymbol>| {
            (!variables.is_empty()).then(|| SymbolTable::new(Arc::clone(&file.bytes), variables))
        };
        let of_debug_file = || self.debug_file(search).and_then(|file| of(file, file.variables()));
        of(file, file.variables()).or_else(of_debug_file).or_else(|| of(file, file.dynamic_variables()))
    }

    fn base_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    fn debug_file(&self, search: &SearchPath) -> Option<&CodeFile> {
        self.debug_file.get_or_init(|| debug_file::find(self.code(search)?, search)).as_ref()
    }

    fn find(&self, search: &SearchPath) -> Search {
        let mut refused = Vec::new();
        if !matches!(self.kind, ImageKind::File | ImageKind::Vdso | ImageKind::JitDump) {
            return Search { file: None, refused };
        }
        for path in search.candidates(&self.name, self.build_id.as_ref()) {
            if !path.is_file() {
                continue;
            }
            match CodeFile::open(&path).and_then(|file| self.accept(file)) {
                Ok(file) => return Search { file: Some(file), refused },
                Err(error) => refused.push(error),
            }
        }
        let elsewhere = self.build_id.as_ref().and_then(|id| debug_file::find_binary(id, search));
        let file = elsewhere.and_then(|path| CodeFile::open(&path).and_then(|file| self.accept(file)).ok());
        Search { file, refused }
    }

    fn accept(&self, file: CodeFile) -> Result<CodeFile, Error> {
        if self.kind == ImageKind::JitDump {
            return match Dump::parse(&file.bytes) {
                Ok(_) => Ok(file.flat()),
                Err(source) => Err(Error::NoJitDump { path: file.path.to_path_buf(), source }),
            };
        }
        let differs =
            |recorded: &&BuildId| !file.build_id.as_ref().is_some_and(|found| same_build(found, recorded));
        if let Some(recorded) = self.build_id.as_ref().filter(differs) {
            let path = file.path.to_path_buf();
            return Err(Error::OtherBuild { path, recorded: recorded.clone(), found: file.build_id });
        }
        if !file.has_code {
            return Err(Error::NoCode { path: file.path.to_path_buf() });
        }
        Ok(file)
    }

    /// Whether a file serves for it that nothing identifies as the recorded one.
    pub(crate) fn is_unidentified(&self) -> bool {
        self.kind != ImageKind::JitDump
            && self.build_id.is_none()
            && self.found.get().is_some_and(|search| search.file.is_some())
    }

    /// What is wrong with it, as far as anybody asked.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        let Some(search) = self.found.get() else { return Vec::new() };
        let mut found: Vec<Diagnostic> = search
            .refused
            .iter()
            .map(|error| {
                Diagnostic::warning(format!(
                    "{error}; code of {} is read from elsewhere or not at all",
                    self.name
                ))
            })
            .collect();
        if search.file.is_none() && self.missed.load(Ordering::Relaxed) {
            found.push(self.missing());
        }
        found.extend(self.unreadable_lines());
        found.extend(
            self.jit_lines.get().into_iter().flatten().flat_map(|lines| lines.diagnostics(&self.name)),
        );
        found
    }

    /// A warning where a file that was opened for it has debug information of which nothing can be used.
    fn unreadable_lines(&self) -> Option<Diagnostic> {
        if !matches!(self.lines.get(), Some(None)) {
            return None;
        }
        let (own, debug_file) = self.opened()?;
        let file = [Some(own), debug_file].into_iter().flatten().find(|file| file.has_lines())?;
        let why = if file.unpacks_within_bounds() {
            "is damaged".to_owned()
        } else {
            format!("would unpack to more than is read ({})", unpacking::BOUNDS)
        };
        let path = file.path.display();
        Some(Diagnostic::warning(format!(
            "{path}: its debug information {why}; code of {} has no source lines",
            self.name
        )))
    }

    fn missing(&self) -> Diagnostic {
        let name = &self.name;
        let identity = self.build_id.as_ref().map_or_else(String::new, |id| format!(" (build ID {id})"));
        Diagnostic::warning(match self.kind {
            ImageKind::Vdso => format!(
                "no copy of the vDSO{identity}: its code is a gap; put the recorded one at [vdso] under --symfs, or \
                 into perf's build-ID cache"
            ),
            ImageKind::Anonymous => format!(
                "{name} is memory without a file (JIT code?): its code is a gap; names come from a perf-PID.map \
                 where there is one"
            ),
            ImageKind::File | ImageKind::JitDump | ImageKind::Kernel => format!(
                "the recorded file {name}{identity} is missing: its code is a gap; copy it from the recorded machine \
                 and give --symfs, or fill perf's build-ID cache with `perf archive`"
            ),
        })
    }
}

/// Whether both have one device and number; the number may have been given twice.
fn is_same_but_for_generation(one: InodeId, other: InodeId) -> bool {
    (one.device, one.inode) == (other.device, other.inode)
}
