//! The crate's only `unsafe`: mapping files, and elfutils' search for files by build ID and debug link.
//!
//! Of elfutils (libdwfl, `elfutils/libdwfl.h`) ten functions are declared here; what they return is a path, checked
//! again by the caller. Lines and symbols are read with other libraries.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use memmap2::Mmap;

/// Maps a whole file for reading.
///
/// # Errors
/// Whatever `mmap` says.
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is private and read-only. Nobody may shorten the file while it is mapped (SIGBUS): true of
    // binaries, symbol files and kcore copies, which are replaced by renaming, and the same that perf relies on.
    unsafe { Mmap::map(file) }
}

#[repr(C)]
struct Dwfl([u8; 0]);

#[repr(C)]
struct DwflModule([u8; 0]);

#[repr(C)]
struct Elf([u8; 0]);

type FindElf = unsafe extern "C" fn(
    *mut DwflModule,
    *mut *mut c_void,
    *const c_char,
    u64,
    *mut *mut c_char,
    *mut *mut Elf,
) -> c_int;

type FindDebugFile = unsafe extern "C" fn(
    *mut DwflModule,
    *mut *mut c_void,
    *const c_char,
    u64,
    *const c_char,
    *const c_char,
    c_uint,
    *mut *mut c_char,
) -> c_int;

/// `Dwfl_Callbacks`.
#[repr(C)]
struct DwflCallbacks {
    find_elf: FindElf,
    find_debuginfo: FindDebugFile,
    section_address: Option<unsafe extern "C" fn() -> c_int>,
    debuginfo_path: *mut *mut c_char,
}

#[link(name = "dw")]
unsafe extern "C" {
    fn dwfl_begin(callbacks: *const DwflCallbacks) -> *mut Dwfl;
    fn dwfl_end(dwfl: *mut Dwfl);
    fn dwfl_report_begin(dwfl: *mut Dwfl);
    fn dwfl_report_module(dwfl: *mut Dwfl, name: *const c_char, start: u64, end: u64) -> *mut DwflModule;
    fn dwfl_report_end(
        dwfl: *mut Dwfl,
        removed: Option<unsafe extern "C" fn()>,
        argument: *mut c_void,
    ) -> c_int;
    fn dwfl_module_report_build_id(
        module: *mut DwflModule,
        bits: *const c_uchar,
        len: usize,
        vaddr: u64,
    ) -> c_int;
    fn dwfl_build_id_find_elf(
        module: *mut DwflModule,
        userdata: *mut *mut c_void,
        name: *const c_char,
        base: u64,
        file_name: *mut *mut c_char,
        elf: *mut *mut Elf,
    ) -> c_int;
    fn dwfl_standard_find_debuginfo(
        module: *mut DwflModule,
        userdata: *mut *mut c_void,
        name: *const c_char,
        base: u64,
        file_name: *const c_char,
        debug_link: *const c_char,
        crc: c_uint,
        found: *mut *mut c_char,
    ) -> c_int;
}

#[link(name = "elf")]
unsafe extern "C" {
    fn elf_version(version: c_uint) -> c_uint;
    fn elf_end(elf: *mut Elf) -> c_int;
}

unsafe extern "C" {
    fn free(pointer: *mut c_void);
}

/// `EV_CURRENT` of `elf.h`.
const EV_CURRENT: c_uint = 1;

/// What a debug file is looked for by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DebugFileQuery<'a> {
    /// The binary on this machine.
    pub(crate) file: &'a Path,
    /// Its build ID.
    pub(crate) build_id: Option<&'a [u8]>,
    /// The name and CRC in its `.gnu_debuglink`.
    pub(crate) debug_link: Option<(&'a Path, u32)>,
}

/// The debug file that elfutils finds in `folders` (a path as in `dwfl_standard_find_debuginfo`) or, where the
/// environment names servers, through debuginfod.
pub(crate) fn find_debug_file(query: DebugFileQuery<'_>, folders: &CStr) -> Option<PathBuf> {
    let file = CString::new(query.file.as_os_str().as_bytes()).ok()?;
    let (link, crc) = query.debug_link.unzip();
    let link = link.and_then(|link| CString::new(link.as_os_str().as_bytes()).ok());
    let link = link.as_ref().map_or(ptr::null(), |link| link.as_ptr());
    with_module(query.build_id, folders, |module| {
        let mut name = ptr::null_mut();
        // SAFETY: `module` is live; the strings outlive the call; `name` receives an allocated string or nothing.
        let fd = unsafe {
            let (user, modname) = (ptr::null_mut(), c"".as_ptr());
            dwfl_standard_find_debuginfo(
                module,
                user,
                modname,
                0,
                file.as_ptr(),
                link,
                crc.unwrap_or(0),
                &raw mut name,
            )
        };
        path_of(fd, name)
    })
}

/// The binary with this build ID that elfutils finds, as [`find_debug_file`].
pub(crate) fn find_elf(build_id: &[u8], folders: &CStr) -> Option<PathBuf> {
    with_module(Some(build_id), folders, |module| {
        let (mut name, mut elf) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: `module` is live; `name` and `elf` receive owned things or nothing; `elf_end` takes null.
        let fd = unsafe {
            let (user, modname) = (ptr::null_mut(), c"".as_ptr());
            let fd = dwfl_build_id_find_elf(module, user, modname, 0, &raw mut name, &raw mut elf);
            elf_end(elf);
            fd
        };
        path_of(fd, name)
    })
}

/// Runs `ask` on a module that stands for the file with `build_id`.
fn with_module<T>(
    build_id: Option<&[u8]>,
    folders: &CStr,
    ask: impl FnOnce(*mut DwflModule) -> Option<T>,
) -> Option<T> {
    /// elfutils keeps global state (ELF version, error numbers, the debuginfod client): one question at a time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut folders = folders.as_ptr().cast_mut();
    let callbacks = DwflCallbacks {
        find_elf: dwfl_build_id_find_elf,
        find_debuginfo: dwfl_standard_find_debuginfo,
        section_address: None,
        debuginfo_path: &raw mut folders,
    };
    // SAFETY: `callbacks` and what it points to live until after `dwfl_end`; elfutils only reads `debuginfo_path`. The
    // module belongs to `dwfl` and is not used after its end. `section_address` is called for relocatable files only,
    // and no DWARF is read here.
    unsafe {
        elf_version(EV_CURRENT);
        let dwfl = dwfl_begin(&raw const callbacks);
        if dwfl.is_null() {
            return None;
        }
        dwfl_report_begin(dwfl);
        let module = dwfl_report_module(dwfl, c"image".as_ptr(), 0x1000, 0x2000);
        dwfl_report_end(dwfl, None, ptr::null_mut());
        let mut answer = None;
        if !module.is_null() {
            if let Some(bits) = build_id {
                dwfl_module_report_build_id(module, bits.as_ptr(), bits.len(), 0);
            }
            answer = ask(module);
        }
        dwfl_end(dwfl);
        answer
    }
}

/// The file behind an open descriptor; a file that came from a server has no `name`.
fn path_of(fd: c_int, name: *mut c_char) -> Option<PathBuf> {
    // SAFETY: `name` is null or was allocated by elfutils with malloc for its caller to free; nobody uses it.
    unsafe { free(name.cast()) };
    if fd < 0 {
        return None;
    }
    // SAFETY: elfutils opened `fd` for its caller and keeps no copy.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}
