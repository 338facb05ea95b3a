//! Handles of domains and strings, one for each text, and names of threads.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::abi::{Domain, StringHandle, text};

type Known<T> = LazyLock<Mutex<HashMap<&'static CStr, &'static T>>>;

static DOMAINS: Known<Domain> = LazyLock::new(Mutex::default);
static STRINGS: Known<StringHandle> = LazyLock::new(Mutex::default);

/// The program has this one already.
pub(crate) fn adopt_domain(domain: &'static Domain) {
    if let Some(name) = domain.name() {
        DOMAINS.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert(domain);
    }
}

/// The program has this one already.
pub(crate) fn adopt_string(string: &'static StringHandle) {
    if let Some(text) = string.text() {
        STRINGS.lock().unwrap_or_else(PoisonError::into_inner).entry(text).or_insert(string);
    }
}

/// A copy that stays.
pub(crate) fn kept(text: &CStr) -> &'static CStr {
    Box::leak(text.into())
}

fn handle<T>(known: &Known<T>, name: *const c_char, make: fn(&'static CStr) -> T) -> Option<&'static T> {
    let name = text(name)?;
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = known.get(name) {
        return Some(handle);
    }
    let name = kept(name);
    let handle = Box::leak(Box::new(make(name)));
    known.insert(name, handle);
    Some(handle)
}

/// `__itt_domain_create`.
pub(crate) extern "C" fn domain_create(name: *const c_char) -> Option<&'static Domain> {
    handle(&DOMAINS, name, Domain::new)
}

/// `__itt_string_handle_create`.
pub(crate) extern "C" fn string_handle_create(name: *const c_char) -> Option<&'static StringHandle> {
    handle(&STRINGS, name, StringHandle::new)
}

/// `__itt_thread_set_name`: the kernel gets the name, too, and with it the recording.
pub(crate) extern "C" fn thread_set_name(name: *const c_char) {
    if let Some(name) = text(name) {
        marks::name_thread(name);
    }
}
