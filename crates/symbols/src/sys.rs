//! The crate's only `unsafe`: mapping files, elfutils' search for files by build ID and debug link, an inode's generation, and
//! gimli's word for bytes that stay in place.
//!
//! Of elfutils (libdwfl, `elfutils/libdwfl.h`) a dozen functions are declared here; what they find is a path, checked
//! again by the caller. Lines and symbols are read with other libraries. A callback must not be asked about a module
//! that has no file: elfutils 0.188 then takes descriptor 0 for the module's and closes it at the end.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_ulong, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use memmap2::Mmap;

use crate::dwarf::SectionBytes;

/// Maps a whole file for reading.
///
/// # Errors
/// Whatever `mmap` says.
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is private and read-only, and nothing of ours writes to the file. Binaries, symbol files and kcore copies
    // are replaced by renaming; where one is shortened while it is mapped, the kernel sends SIGBUS: no byte is made up. The binary
    // takes that signal and ends with a message (`crates/cli/ending/fault.rs`); another program is ended by it, as perf is.
    unsafe { Mmap::map(file) }
}

// SAFETY: both kinds of bytes are kept by an `Arc`, which does not move them when it is moved, and never change: files are mapped
// read-only, and `FileBytes` has no method that changes what it owns.
unsafe impl gimli::StableDeref for SectionBytes {}
// SAFETY: a copy shares the `Arc`, so it has the same bytes at the same place.
unsafe impl gimli::CloneStableDeref for SectionBytes {}

/// The generation of a file's inode; `None` where the file system has none.
pub(crate) fn generation(file: &File) -> Option<u64> {
    /// `FS_IOC_GETVERSION` of `linux/fs.h`: `_IOR('v', 1, long)`.
    const GET_VERSION: c_ulong = 0x8008_7601;
    // File systems write an `int`, although the request's number says `long`: the rest stays zero.
    let mut generation: u64 = 0;
    // SAFETY: the request writes at most eight bytes to the address, which belong to `generation`.
    let result = unsafe { ioctl(file.as_raw_fd(), GET_VERSION, &raw mut generation) };
    (result == 0).then_some(generation & u64::from(u32::MAX))
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

type SectionAddress = unsafe extern "C" fn(
    *mut DwflModule,
    *mut *mut c_void,
    *const c_char,
    u64,
    *const c_char,
    c_uint,
    *const c_void,
    *mut u64,
) -> c_int;

/// `Dwfl_Callbacks`.
#[repr(C)]
struct DwflCallbacks {
    find_elf: FindElf,
    find_debuginfo: FindDebugFile,
    section_address: SectionAddress,
    debuginfo_path: *mut *mut c_char,
}

#[link(name = "dw")]
unsafe extern "C" {
    fn dwfl_begin(callbacks: *const DwflCallbacks) -> *mut Dwfl;
    fn dwfl_end(dwfl: *mut Dwfl);
    fn dwfl_report_begin(dwfl: *mut Dwfl);
    fn dwfl_report_module(dwfl: *mut Dwfl, name: *const c_char, start: u64, end: u64) -> *mut DwflModule;
    fn dwfl_report_elf(
        dwfl: *mut Dwfl,
        name: *const c_char,
        file_name: *const c_char,
        fd: c_int,
        base: u64,
        add_p_vaddr: bool,
    ) -> *mut DwflModule;
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
    fn dwfl_module_info(
        module: *mut DwflModule,
        userdata: *mut *mut *mut c_void,
        start: *mut u64,
        end: *mut u64,
        dwarf_bias: *mut u64,
        symbol_bias: *mut u64,
        main_file: *mut *const c_char,
        debug_file: *mut *const c_char,
    ) -> *const c_char;
    fn dwfl_module_getdwarf(module: *mut DwflModule, bias: *mut u64) -> *mut c_void;
    fn dwfl_offline_section_address(
        module: *mut DwflModule,
        userdata: *mut *mut c_void,
        name: *const c_char,
        base: u64,
        section: *const c_char,
        index: c_uint,
        header: *const c_void,
        address: *mut u64,
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
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
}

/// `EV_CURRENT` of `elf.h`.
const EV_CURRENT: c_uint = 1;

/// The debug file of `binary` that elfutils finds by build ID or debug link, in `folders` (a path as in
/// `dwfl_standard_find_debuginfo`) or, where the environment names servers, through debuginfod.
pub(crate) fn find_debug_file(binary: &Path, folders: &CStr) -> Option<PathBuf> {
    let binary = CString::new(binary.as_os_str().as_bytes()).ok()?;
    with_session(folders, |dwfl| {
        let mut found: Option<PathBuf> = None;
        // SAFETY: `dwfl` is live. The module belongs to it and is used before its end only. `userdata` points to the
        // module's own slot, which receives a pointer to `found`, and `found` outlives the one call that may write it.
        unsafe {
            dwfl_report_begin(dwfl);
            let module = dwfl_report_elf(dwfl, c"binary".as_ptr(), binary.as_ptr(), -1, 0, true);
            dwfl_report_end(dwfl, None, ptr::null_mut());
            if module.is_null() {
                return None;
            }
            let (mut userdata, null, none) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            dwfl_module_info(module, &raw mut userdata, null, null, null, null, none, none);
            if userdata.is_null() {
                return None;
            }
            *userdata = (&raw mut found).cast();
            let mut bias = 0;
            dwfl_module_getdwarf(module, &raw mut bias);
            *userdata = ptr::null_mut();
        }
        found
    })
}

/// Finds a debug file as elfutils does by default and notes where it lies: elfutils gives the name of a file in a
/// folder, but not of one from a server. elfutils does not get it: it would unpack its sections, however large they become.
unsafe extern "C" fn find_and_note(
    module: *mut DwflModule,
    userdata: *mut *mut c_void,
    name: *const c_char,
    base: u64,
    file_name: *const c_char,
    debug_link: *const c_char,
    crc: c_uint,
    found: *mut *mut c_char,
) -> c_int {
    // SAFETY: elfutils' own arguments go on to elfutils unchanged.
    let fd = unsafe {
        dwfl_standard_find_debuginfo(module, userdata, name, base, file_name, debug_link, crc, found)
    };
    // SAFETY: the slot holds null or the pointer that `find_debug_file` put there, alive while it waits.
    let note = unsafe { userdata.as_ref().and_then(|slot| slot.cast::<Option<PathBuf>>().as_mut()) };
    if fd >= 0 {
        // SAFETY: the descriptor was opened for the caller of this function, who gets none.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        if let Some(note) = note {
            *note = path_of(&file);
        }
    }
    -1
}

/// Where an open file lies.
fn path_of(file: &OwnedFd) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// The binary with this build ID that elfutils finds, where [`find_debug_file`] looks.
pub(crate) fn find_elf(build_id: &[u8], folders: &CStr) -> Option<PathBuf> {
    with_session(folders, |dwfl| {
        let (mut name, mut elf) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: as above. `name` and `elf` receive owned things or nothing; `elf_end` and `free` take null. The
        // descriptor is opened for the caller, and elfutils keeps no copy: the module gets no file of its own.
        unsafe {
            dwfl_report_begin(dwfl);
            let module = dwfl_report_module(dwfl, c"image".as_ptr(), 0x1000, 0x2000);
            dwfl_report_end(dwfl, None, ptr::null_mut());
            if module.is_null()
                || dwfl_module_report_build_id(module, build_id.as_ptr(), build_id.len(), 0) != 0
            {
                return None;
            }
            let (user, modname) = (ptr::null_mut(), c"".as_ptr());
            let fd = dwfl_build_id_find_elf(module, user, modname, 0, &raw mut name, &raw mut elf);
            elf_end(elf);
            free(name.cast());
            path_of(&(fd >= 0).then(|| OwnedFd::from_raw_fd(fd))?)
        }
    })
}

/// Runs `ask` in a session of elfutils that searches `folders`.
fn with_session<T>(folders: &CStr, ask: impl FnOnce(*mut Dwfl) -> Option<T>) -> Option<T> {
    /// elfutils keeps global state (ELF version, error numbers, the debuginfod client): one question at a time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut folders = folders.as_ptr().cast_mut();
    let callbacks = DwflCallbacks {
        find_elf: dwfl_build_id_find_elf,
        find_debuginfo: find_and_note,
        section_address: dwfl_offline_section_address,
        debuginfo_path: &raw mut folders,
    };
    // SAFETY: `callbacks` and what it points to live until after `dwfl_end`; elfutils only reads `debuginfo_path`.
    unsafe {
        elf_version(EV_CURRENT);
        let dwfl = dwfl_begin(&raw const callbacks);
        if dwfl.is_null() {
            return None;
        }
        let answer = ask(dwfl);
        dwfl_end(dwfl);
        answer
    }
}
