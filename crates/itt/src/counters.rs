//! Counters: what one has is a number of the innermost task that is open on the thread which counts. Without one it is not written.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::abi::{Counter, Domain, StringHandle, text};
use crate::names::kept;
use crate::stack;

/// The API's number for unsigned values of 64 bits.
const UNSIGNED: c_int = 1;

/// A domain's name and a counter's.
type Names = (Box<CStr>, Box<CStr>);

/// Those that were created.
static COUNTERS: LazyLock<Mutex<HashMap<Names, &'static Counter>>> = LazyLock::new(Mutex::default);

/// The function for an entry of the API.
pub(crate) fn function(name: &[u8]) -> Option<*mut c_void> {
    let function = match name {
        b"__itt_counter_create" => create as *mut c_void,
        b"__itt_counter_create_typed" => create_typed as *mut c_void,
        b"__itt_counter_create_v3" => create_v3 as *mut c_void,
        b"__itt_counter_inc" => inc as *mut c_void,
        b"__itt_counter_dec" => dec as *mut c_void,
        b"__itt_counter_inc_delta" => inc_delta as *mut c_void,
        b"__itt_counter_dec_delta" => dec_delta as *mut c_void,
        b"__itt_counter_set_value" | b"__itt_counter_set_value_v3" => set_value as *mut c_void,
        b"__itt_counter_inc_v3" => inc_v3 as *mut c_void,
        b"__itt_counter_dec_v3" => dec_v3 as *mut c_void,
        b"__itt_counter_inc_delta_v3" => inc_delta_v3 as *mut c_void,
        b"__itt_counter_dec_delta_v3" => dec_delta_v3 as *mut c_void,
        _ => return None,
    };
    Some(function)
}

fn of(name: &CStr, domain: &CStr, form: c_int) -> &'static Counter {
    let mut counters = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    counters
        .entry((domain.into(), name.into()))
        .or_insert_with(|| Box::leak(Box::new(Counter::new(kept(name), form))))
}

impl Counter {
    fn write(&self, value: i64) {
        if let (Some((label, key)), Some(name)) = (stack::innermost(), self.name()) {
            marks::counter(label, key, name, value);
        }
    }

    fn add(&self, delta: i64) {
        self.write(self.value.fetch_add(delta, Ordering::Relaxed).wrapping_add(delta));
    }
}

extern "C" fn create(name: *const c_char, domain: *const c_char) -> Option<&'static Counter> {
    create_typed(name, domain, UNSIGNED)
}

extern "C" fn create_typed(
    name: *const c_char,
    domain: *const c_char,
    form: c_int,
) -> Option<&'static Counter> {
    Some(of(text(name)?, text(domain).unwrap_or(c""), form))
}

extern "C" fn create_v3(
    domain: Option<&Domain>,
    name: *const c_char,
    form: c_int,
) -> Option<&'static Counter> {
    Some(of(text(name)?, domain?.name()?, form))
}

extern "C" fn inc(counter: Option<&Counter>) {
    inc_delta(counter, 1);
}

extern "C" fn dec(counter: Option<&Counter>) {
    dec_delta(counter, 1);
}

extern "C" fn inc_delta(counter: Option<&Counter>, delta: u64) {
    if let Some(counter) = counter {
        counter.add(delta.cast_signed());
    }
}

extern "C" fn dec_delta(counter: Option<&Counter>, delta: u64) {
    if let Some(counter) = counter {
        counter.add(delta.cast_signed().wrapping_neg());
    }
}

extern "C" fn set_value(counter: Option<&Counter>, from: *const c_void) {
    if let Some((counter, value)) = counter.and_then(|counter| Some((counter, counter.read(from)?))) {
        counter.value.store(value, Ordering::Relaxed);
        counter.write(value);
    }
}

fn named(domain: Option<&Domain>, name: Option<&StringHandle>) -> Option<&'static Counter> {
    Some(of(name?.text()?, domain?.name()?, UNSIGNED))
}

extern "C" fn inc_v3(domain: Option<&Domain>, name: Option<&StringHandle>) {
    inc_delta(named(domain, name), 1);
}

extern "C" fn dec_v3(domain: Option<&Domain>, name: Option<&StringHandle>) {
    dec_delta(named(domain, name), 1);
}

extern "C" fn inc_delta_v3(domain: Option<&Domain>, name: Option<&StringHandle>, delta: u64) {
    inc_delta(named(domain, name), delta);
}

extern "C" fn dec_delta_v3(domain: Option<&Domain>, name: Option<&StringHandle>, delta: u64) {
    dec_delta(named(domain, name), delta);
}
