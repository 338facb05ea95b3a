//! A collector for programs that use Intel's ITT API, which `INTEL_LIBITTNOTIFY64` names: tasks, overlapped tasks, regions, frames,
//! counters and names of threads as marks of `tailtrace-marks`.
//!
//! Input: the program's calls, by the pointers that `abi` hands out. Output: the file that `TAILTRACE_FILE` names, else
//! `tailtrace.marks`. A call takes no lock, but for the names of things that are created, and for counters by a name alone.

mod abi;
mod counters;
mod frames;
mod names;
mod overlapped;
mod pt_regions;
mod stack;
mod tasks;

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

/// Whether the file is open; the first call opens it.
fn is_open() -> bool {
    static OPEN: OnceLock<bool> = OnceLock::new();
    *OPEN.get_or_init(|| {
        let opened = marks::open_default();
        if let Err(error) = &opened {
            eprintln!("tailtrace: no ITT calls are written, for the file of TAILTRACE_FILE cannot be opened: {error}");
        }
        opened.is_ok()
    })
}

/// The function that the program is to call for an entry of the API; `None`: it is not read.
fn function(name: &CStr) -> Option<*mut c_void> {
    let function = match name.to_bytes() {
        b"__itt_domain_create" => names::domain_create as *mut c_void,
        b"__itt_string_handle_create" => names::string_handle_create as *mut c_void,
        b"__itt_thread_set_name" => names::thread_set_name as *mut c_void,
        b"__itt_pt_region_createA" | b"__itt_pt_region_create" => pt_regions::pt_region_create as *mut c_void,
        b"__itt_pause" => stack::pause as *mut c_void,
        b"__itt_resume" => stack::resume as *mut c_void,
        b"__itt_task_begin" => tasks::task_begin as *mut c_void,
        b"__itt_task_begin_fn" => tasks::task_begin_fn as *mut c_void,
        b"__itt_task_begin_ex" => tasks::task_begin_ex as *mut c_void,
        b"__itt_task_begin_fn_ex" => tasks::task_begin_fn_ex as *mut c_void,
        b"__itt_task_end" => tasks::task_end as *mut c_void,
        b"__itt_task_end_ex" => tasks::task_end_ex as *mut c_void,
        b"__itt_task_begin_overlapped" | b"__itt_region_begin" => overlapped::begin as *mut c_void,
        b"__itt_task_begin_overlapped_ex" => overlapped::begin_ex as *mut c_void,
        b"__itt_task_end_overlapped" | b"__itt_region_end" => overlapped::end as *mut c_void,
        b"__itt_task_end_overlapped_ex" => overlapped::end_ex as *mut c_void,
        b"__itt_get_timestamp" => frames::get_timestamp as *mut c_void,
        b"__itt_frame_begin_v3" => frames::frame_begin as *mut c_void,
        b"__itt_frame_end_v3" => frames::frame_end as *mut c_void,
        b"__itt_frame_submit_v3" => frames::frame_submit as *mut c_void,
        name => return counters::function(name),
    };
    Some(function)
}
