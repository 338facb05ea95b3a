//! Which files served for code and names so far: what another machine needs to give the same answers.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use model::{BuildId, Pid};

use super::ProcessImages;
use crate::elf::CodeFile;
use crate::file_bytes::FileBytes;
use crate::image::{Identity, Image, ImageKind};
use crate::jitdump::Dump;
use crate::perf_map::{self, PerfMap};

/// A file that stood for a recorded one whose code ran.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UsedFile {
    /// The recorded name.
    pub name: String,
    /// The recorded identity.
    pub build_id: Option<BuildId>,
    /// The identity in the file itself.
    pub own_build_id: Option<BuildId>,
    /// The file on this machine.
    pub path: PathBuf,
    /// What the file is.
    pub kind: UsedKind,
    /// What shows that it is the recorded one.
    pub identity: Identity,
    /// The file with its symbols or lines, where it has none itself.
    pub debug_file: Option<DebugFile>,
    bytes: Arc<FileBytes>,
}

/// What a file that served is, by its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsedKind {
    /// An ELF file with code: a program, a library, the vDSO.
    Program,
    /// Code that a runtime made while it ran.
    JitDump,
    /// Names for such code.
    PerfMap,
    /// Anything else: bytes that a mapping showed as code.
    Other,
}

/// A separate debug file that served.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DebugFile {
    /// The file on this machine.
    pub path: PathBuf,
    /// What shows that it belongs to its program.
    pub identity: Identity,
    bytes: Arc<FileBytes>,
}

impl DebugFile {
    /// What it holds.
    pub fn contents(&self) -> &[u8] {
        &self.bytes
    }
}

impl UsedFile {
    /// What it holds, as far as its format goes: a jitdump up to where it is damaged, of a list of names the lines that
    /// are such.
    pub fn contents(&self) -> Cow<'_, [u8]> {
        match self.kind {
            UsedKind::Program | UsedKind::Other => Cow::Borrowed(&self.bytes),
            UsedKind::JitDump => {
                let end = Dump::parse(&self.bytes).ok().and_then(|dump| dump.broken_at);
                Cow::Borrowed(end.and_then(|end| self.bytes.get(..end)).unwrap_or(&self.bytes))
            }
            UsedKind::PerfMap => Cow::Owned(perf_map::lines(&self.bytes)),
        }
    }
}

impl ProcessImages {
    /// The files of whose code some was said to run so far (by [`ProcessImages::function_at`] and its like), in the order
    /// in which the recording names them; the kernel's are not among them.
    pub fn used_files(&self) -> Vec<UsedFile> {
        let images = self.images.iter().filter(|image| image.has_run());
        let programs = images.filter_map(|image| self.used_file(image));
        let opened = |(pid, map): &(Pid, PerfMap)| {
            let (path, table) = map.opened()?;
            let (name, path) = (perf_map::name_of(*pid), path.to_owned());
            let identity = if self.search.symfs.is_some() { Identity::Given } else { Identity::Unknown };
            Some(UsedFile {
                name,
                build_id: None,
                own_build_id: None,
                path,
                kind: UsedKind::PerfMap,
                identity,
                debug_file: None,
                bytes: table.file(),
            })
        };
        programs.chain(self.perf_maps.iter().filter_map(opened)).collect()
    }

    fn used_file(&self, image: &Image) -> Option<UsedFile> {
        let (file, debug_file) = image.opened()?;
        let kind = match image.kind {
            ImageKind::JitDump => UsedKind::JitDump,
            _ if file.is_executable_image() => UsedKind::Program,
            _ => UsedKind::Other,
        };
        Some(UsedFile {
            name: image.name.to_string(),
            build_id: image.build_id().cloned(),
            own_build_id: file.build_id.clone(),
            path: file.path.to_path_buf(),
            kind,
            identity: image.identity(file, &self.search),
            debug_file: debug_file.map(|debug_file| self.used_debug_file(file, debug_file)),
            bytes: Arc::clone(&file.bytes),
        })
    }

    fn used_debug_file(&self, program: &CodeFile, file: &CodeFile) -> DebugFile {
        let identity = match &program.build_id {
            Some(id) if file.build_id.as_ref() == Some(id) => Identity::BuildId,
            _ if self.search.is_given(&file.path) => Identity::Given,
            _ => Identity::Unknown,
        };
        DebugFile { path: file.path.to_path_buf(), identity, bytes: Arc::clone(&file.bytes) }
    }
}
