//! What the static part of the API and a collector exchange, by `ittnotify.h` and `ittnotify_config.h` of versions 3 (x86-64 Linux),
//! and the one place that follows the program's pointers.
//!
//! The static part holds its lock while it calls [`__itt_api_init`], and lets no call through before: the lists are at rest.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};

/// The first bytes of a [`Global`].
const MAGIC: [u8; 8] = [0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30];
/// Older static parts have entries of another size.
const OLDEST: c_ulong = 3;

/// `__itt_domain`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Domain {
    flags: c_int,
    name: *const c_char,
    wide: *mut c_void,
    extra: c_int,
    /// Reserved for the collector: the number of its last frame without an id.
    pub(crate) frames: AtomicU64,
    next: *mut Domain,
}

/// `__itt_string_handle`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct StringHandle {
    text: *const c_char,
    wide: *mut c_void,
    /// Reserved for the collector: the text's bytes with its end, once they were counted.
    size: AtomicI32,
    extra2: *mut c_void,
    next: *mut StringHandle,
}

/// `__itt_counter_info_t`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Counter {
    name: *const c_char,
    wide: *mut c_void,
    domain: *const c_char,
    wide_domain: *mut c_void,
    pub(crate) form: c_int,
    /// An index for the collector, first zero: what it counts.
    pub(crate) value: AtomicI64,
    extra: c_int,
    extra2: *mut c_void,
    next: *mut Counter,
}

/// `__itt_id`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Id {
    d1: u64,
    d2: u64,
    d3: u64,
}

/// `__itt_api_info`: one function of the API.
#[repr(C)]
struct Entry {
    name: *const c_char,
    function: *mut *mut c_void,
    first: *mut c_void,
    without: *mut c_void,
    group: c_int,
}

/// `__itt_global`, as far as it is read.
#[repr(C)]
pub(crate) struct Global {
    magic: [u8; 8],
    major: c_ulong,
    minor: c_ulong,
    build: c_ulong,
    initialized: c_long,
    mutex_initialized: c_long,
    counter: c_long,
    /// A `pthread_mutex_t`.
    mutex: [u64; 5],
    library: *mut c_void,
    error_handler: *mut c_void,
    path: *mut *const c_char,
    entries: *mut Entry,
    next: *mut Global,
    threads: *mut c_void,
    domains: *mut Domain,
    strings: *mut StringHandle,
}

// SAFETY: what the pointers lead to stays as it is for as long as the process lives; what changes is atomic.
unsafe impl Sync for Domain {}
// SAFETY: as above.
unsafe impl Sync for StringHandle {}
// SAFETY: as above.
unsafe impl Sync for Counter {}

impl Domain {
    pub(crate) fn new(name: &'static CStr) -> Domain {
        let (wide, next) = (std::ptr::null_mut(), std::ptr::null_mut());
        Domain { flags: 1, name: name.as_ptr(), wide, extra: 0, frames: AtomicU64::new(0), next }
    }

    pub(crate) fn name(&self) -> Option<&'static CStr> {
        text(self.name)
    }

    /// Which one it is.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl StringHandle {
    pub(crate) fn new(text: &'static CStr) -> StringHandle {
        let nothing = std::ptr::null_mut();
        let next = std::ptr::null_mut();
        StringHandle { text: text.as_ptr(), wide: nothing, size: AtomicI32::new(0), extra2: nothing, next }
    }

    /// The one at an address that a reference had.
    pub(crate) fn at(address: *const StringHandle) -> Option<&'static StringHandle> {
        // SAFETY: by the API handles stay.
        unsafe { address.as_ref() }
    }

    pub(crate) fn text(&self) -> Option<&'static CStr> {
        let known = usize::try_from(self.size.load(Ordering::Relaxed)).ok().filter(|&size| size > 0);
        let Some(size) = known else { return self.count() };
        // SAFETY: so many bytes were counted there, the last one is the zero, and they stay as they are.
        Some(unsafe {
            CStr::from_bytes_with_nul_unchecked(std::slice::from_raw_parts(self.text.cast::<u8>(), size))
        })
    }

    #[cold]
    fn count(&self) -> Option<&'static CStr> {
        let text = text(self.text)?;
        let size = i32::try_from(text.count_bytes() + 1).unwrap_or(0);
        self.size.store(size, Ordering::Relaxed);
        Some(text)
    }
}

impl Counter {
    pub(crate) fn new(name: &'static CStr, form: c_int) -> Counter {
        let nothing = std::ptr::null_mut();
        Counter {
            name: name.as_ptr(),
            wide: nothing,
            domain: std::ptr::null(),
            wide_domain: nothing,
            form,
            value: AtomicI64::new(0),
            extra: 0,
            extra2: nothing,
            next: std::ptr::null_mut(),
        }
    }

    pub(crate) fn name(&self) -> Option<&'static CStr> {
        text(self.name)
    }

    /// Reads a value of the counter's type, without its fraction; `None` where there is none.
    pub(crate) fn read(&self, from: *const c_void) -> Option<i64> {
        if from.is_null() {
            return None;
        }
        #[allow(clippy::cast_possible_truncation, reason = "a counter of the file is a whole number")]
        // SAFETY: by the API a value of the type with which the counter was created is there.
        let value = unsafe {
            match self.form {
                2 => from.cast::<i64>().read_unaligned(),
                3 => from.cast::<u32>().read_unaligned().into(),
                4 => from.cast::<i32>().read_unaligned().into(),
                5 => from.cast::<u16>().read_unaligned().into(),
                6 => from.cast::<i16>().read_unaligned().into(),
                7 => from.cast::<f32>().read_unaligned() as i64,
                8 => from.cast::<f64>().read_unaligned() as i64,
                // Without a type: unsigned, 64 bits.
                _ => from.cast::<u64>().read_unaligned().cast_signed(),
            }
        };
        Some(value)
    }
}

impl Id {
    /// The key of the interval: the id's only number, of two a mixture.
    pub(crate) fn key(self) -> u64 {
        let key = match (self.d1, self.d2) {
            (0, 0) => return marks::NO_KEY,
            (0, number) | (number, 0) => number,
            (address, number) => address.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number,
        };
        key.min(marks::NO_KEY - 2)
    }
}

/// The text at an address that the program gave; `None` where there is none.
pub(crate) fn text(at: *const c_char) -> Option<&'static CStr> {
    // SAFETY: by the API texts of handles stay. What is passed to a call is copied before that returns.
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) })
}

/// What a frame's id pointer leads to; `None` where there is none.
pub(crate) fn id(at: *const Id) -> Option<Id> {
    // SAFETY: by the API it is null or an id.
    (!at.is_null()).then(|| unsafe { at.read() })
}

/// The static part of the program, or of one of its libraries, hands over its table of functions: each is replaced by the collector's,
/// or by nothing.
///
/// # Safety
/// `global` must be null or the static part's own, with its lock held.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __itt_api_init(global: *mut Global, _groups: c_int) {
    // SAFETY: as the caller says.
    let Some(global) = (unsafe { global.as_ref() }) else { return };
    if global.magic != MAGIC || global.major < OLDEST {
        eprintln!(
            "tailtrace: no ITT calls are written, for the program's ITT library is older than version 3"
        );
        return;
    }
    // SAFETY: the lists are at rest, and what is in them stays.
    unsafe { adopt(global) };
    let is_open = crate::is_open();
    let mut entry = global.entries;
    // SAFETY: the table ends with an entry without a name; the pointers that it leads to are the static part's own.
    unsafe {
        while let Some(name) = text((*entry).name) {
            let ours = if is_open { crate::function(name) } else { None };
            *(*entry).function = ours.unwrap_or((*entry).without);
            entry = entry.add(1);
        }
    }
}

/// Domains and strings that the program created before its first call of another kind keep their handles.
///
/// # Safety
/// The lists must be at rest.
unsafe fn adopt(global: &Global) {
    let (mut domain, mut string) = (global.domains, global.strings);
    // SAFETY: as the caller says.
    while let Some(known) = unsafe { domain.as_ref::<'static>() } {
        crate::names::adopt_domain(known);
        domain = known.next;
    }
    // SAFETY: as the caller says.
    while let Some(known) = unsafe { string.as_ref::<'static>() } {
        crate::names::adopt_string(known);
        string = known.next;
    }
}

/// The collector's version, which the API asks of it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __itt_api_version() -> *const c_char {
    const VERSION: &str = concat!("tailtrace ", env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By `ittnotify.h`: unsigned 64 is 1, signed 32 is 4, double is 8.
    #[test]
    fn values_have_their_counters_type() {
        let read = |form, from: *const c_void| Counter::new(c"of a test", form).read(from);
        let (signed, double, unsigned) = (-7_i32, 2.75_f64, 9_u64);
        assert_eq!(read(4, (&raw const signed).cast()), Some(-7));
        assert_eq!(read(8, (&raw const double).cast()), Some(2));
        assert_eq!(read(1, (&raw const unsigned).cast()), Some(9));
        assert_eq!(read(1, std::ptr::null()), None);
    }

    #[test]
    fn a_key_is_the_ids_number() {
        let key = |d1, d2| Id { d1, d2, d3: 0 }.key();
        assert_eq!((key(0, 7), key(7, 0), key(0, 0)), (7, 7, marks::NO_KEY));
        assert_ne!(key(4096, 1), key(4096, 2));
        assert_ne!(key(4096, 1), key(8192, 1));
        assert_ne!(key(0, u64::MAX), marks::NO_KEY);
    }

    /// Offsets of version 3.26, by hand: 8 + 3 * 8 + 3 * 8 + 40 of the lock, then pointers.
    #[test]
    fn layouts_are_the_static_parts() {
        assert_eq!(std::mem::offset_of!(Global, entries), 120);
        assert_eq!(std::mem::offset_of!(Global, domains), 144);
        assert_eq!(std::mem::offset_of!(Domain, frames), 32);
        assert_eq!(std::mem::offset_of!(Counter, value), 40);
        assert_eq!(size_of::<Entry>(), 40);
    }
}
