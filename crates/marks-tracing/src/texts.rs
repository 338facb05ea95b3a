//! Names as the marks have them: with a zero at the end, and for as long as the program lives.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

/// Names that are given one copy each; a program has as many as spans and fields in its source.
const MOST: usize = 65_536;

/// The names of all threads.
#[derive(Debug, Default)]
pub(crate) struct Texts(Mutex<HashMap<Box<str>, &'static CStr>>);

thread_local! {
    /// Those that this thread has used: no lock for the second time.
    static KNOWN: RefCell<HashMap<(usize, usize), &'static CStr>> = RefCell::default();
}

impl Texts {
    /// The name with a zero at its end; up to a zero that is in it.
    pub(crate) fn of(&self, name: &'static str) -> &'static CStr {
        // A constant has one address, or a few.
        let place = (name.as_ptr().addr(), name.len());
        // A span may close while its thread ends, after these names are gone.
        let known = KNOWN.try_with(|known| known.borrow().get(&place).copied()).ok().flatten();
        known.unwrap_or_else(|| {
            let text = self.copy(name);
            let _ = KNOWN.try_with(|known| known.borrow_mut().insert(place, text));
            text
        })
    }

    /// The same of a name that may be gone after the call.
    pub(crate) fn copy(&self, name: &str) -> &'static CStr {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = all.get(name) {
            return text;
        }
        if all.len() >= MOST {
            return c"(more names)";
        }
        let bytes: Vec<u8> = name.bytes().take_while(|&byte| byte != 0).collect();
        let text: &'static CStr = Box::leak(CString::new(bytes).unwrap_or_default().into_boxed_c_str());
        all.insert(name.into(), text);
        text
    }
}
