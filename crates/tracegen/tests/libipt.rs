//! libipt's instruction decoder finds exactly the instructions of each scenario: a second judge beside perf.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(unsafe_code, reason = "calls into libipt, a C library")]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::path::Path;

use libipt_sys as ipt;
use tailtrace_tracegen::scenario::{Executed, Scenario, read};

/// Scenarios that libipt 2.1.2 cannot decode, and why.
const NOT_DECODABLE: [(&str, &str); 6] = [
    ("pebs_block", NO_BLOCKS),
    ("pebs_in_trace", NO_BLOCKS),
    ("fred_interrupt-timer", NO_EVENT_RETURNS),
    ("fred_ipi-call_function", NO_EVENT_RETURNS),
    ("fred_page_fault", NO_EVENT_RETURNS),
    ("fred_syscall", NO_EVENT_RETURNS),
];

const NO_BLOCKS: &str = "it knows no BBP, BIP and BEP packets";
const NO_EVENT_RETURNS: &str = "it knows no ERETU and ERETS";

/// What the read callback serves: the code as it is at the time of the last packet.
struct Code<'a> {
    scenario: &'a Scenario,
    now: Cell<u64>,
}

/// An error of libipt, and the offset in the trace at which it came.
type Fault = (c_int, u64);

#[test]
fn libipt_finds_exactly_the_instructions_of_each_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "scenario"));
    let mut seen = 0;
    for file in files {
        check(&file);
        seen += 1;
    }
    assert!(seen >= 30, "only {seen} scenarios");
}

fn check(file: &Path) {
    let scenario = read(file).unwrap();
    let executed = Executed::run(&scenario).unwrap();
    let name = file.file_stem().unwrap().to_string_lossy();
    let decodable = !NOT_DECODABLE.iter().any(|(known, _)| *known == name);
    for buffer in 0..executed.buffers() {
        let owner = executed.owner(buffer).unwrap();
        let pieces = executed.trace(buffer);
        let last = pieces.len() - 1;
        let pieces = pieces.iter().enumerate().map(|(at, piece)| decoded(piece, &scenario, at < last));
        let (found, faults): (Vec<_>, Vec<_>) = pieces.unzip();
        let (found, faults) = (found.concat(), faults.concat());
        let expected: Vec<u64> = executed.instructions(buffer).iter().map(|retired| retired.ip).collect();
        let alike = expected.iter().zip(&found).take_while(|(expected, found)| expected == found).count();
        let same = found == expected && faults.is_empty();
        assert_eq!(
            same,
            decodable,
            "{name} {owner:?}: {alike} of {} alike, {} found, faults {faults:?}",
            expected.len(),
            found.len()
        );
    }
}

/// The addresses of all instructions in `trace`, and libipt's errors. `is_cut`: it ends in the middle of execution, and code
/// that may have run after its last packet does not count.
fn decoded(trace: &[u8], scenario: &Scenario, is_cut: bool) -> (Vec<u64>, Vec<Fault>) {
    let code = Code { scenario, now: Cell::new(0) };
    let context: *const Code<'_> = &raw const code;
    let config = config(trace, scenario);
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    // SAFETY: the configuration describes `trace`, which outlives the decoder; the callback's context does, too.
    unsafe {
        let decoder = ipt::pt_insn_alloc_decoder(&raw const config);
        let image = ipt::pt_insn_get_image(decoder);
        ipt::pt_image_set_callback(image, Some(read_code), context.cast_mut().cast::<c_void>());
        let mut status = ipt::pt_insn_sync_forward(decoder);
        while status >= 0 {
            status = piece(decoder, status, (&code, is_cut), &mut found);
            if status == -ipt::pt_error_code_pte_eos.cast_signed() {
                break;
            }
            let mut offset = 0;
            ipt::pt_insn_get_offset(decoder, &raw mut offset);
            faults.push((status, offset));
            status = ipt::pt_insn_sync_forward(decoder);
        }
        ipt::pt_insn_free_decoder(decoder);
    }
    (found, faults)
}

/// Decodes until an error, which may be the end; returns it.
unsafe fn piece(
    decoder: *mut ipt::pt_insn_decoder,
    mut status: c_int,
    (code, is_cut): (&Code<'_>, bool),
    found: &mut Vec<u64>,
) -> c_int {
    let end = ipt::pt_status_flag_pts_eos;
    // SAFETY: the decoder is valid, both structures are plain integers, and their sizes are given.
    unsafe {
        let (mut event, mut instruction): (ipt::pt_event, ipt::pt_insn) = std::mem::zeroed();
        while status >= 0 {
            let mut now = 0;
            ipt::pt_insn_time(decoder, &raw mut now, std::ptr::null_mut(), std::ptr::null_mut());
            code.now.set(now);
            if status.cast_unsigned() & ipt::pt_status_flag_pts_event_pending != 0 {
                status = ipt::pt_insn_event(decoder, &raw mut event, size_of::<ipt::pt_event>());
                continue;
            }
            if is_cut && status.cast_unsigned() & end != 0 {
                return -ipt::pt_error_code_pte_eos.cast_signed();
            }
            status = ipt::pt_insn_next(decoder, &raw mut instruction, size_of::<ipt::pt_insn>());
            if status >= 0 {
                found.push(instruction.ip);
            }
        }
    }
    status
}

fn config(trace: &[u8], scenario: &Scenario) -> ipt::pt_config {
    let settings = scenario.settings();
    // SAFETY: `pt_config_init` does the same: zero all, set the size.
    let mut config: ipt::pt_config = unsafe { std::mem::zeroed() };
    config.size = size_of::<ipt::pt_config>();
    let range = trace.as_ptr_range();
    (config.begin, config.end) = (range.start.cast_mut(), range.end.cast_mut());
    config.mtc_freq = settings.mtc_period.unwrap_or(0);
    config.nom_freq = settings.tsc_ratio;
    (config.cpuid_0x15_ebx, config.cpuid_0x15_eax) = (settings.tsc_numerator, settings.tsc_denominator);
    config
}

unsafe extern "C" fn read_code(
    buffer: *mut u8,
    size: usize,
    _space: *const ipt::pt_asid,
    ip: u64,
    context: *mut c_void,
) -> c_int {
    // SAFETY: `context` is the live decoder's; libipt passes a buffer of `size` bytes.
    let code = unsafe { &*context.cast::<Code<'_>>() };
    let Some((bytes, _)) = code.scenario.code_at(ip, code.now.get()) else {
        return -ipt::pt_error_code_pte_nomap.cast_signed();
    };
    let count = bytes.len().min(size);
    // SAFETY: `count` bytes fit into the buffer.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, count) };
    c_int::try_from(count).unwrap()
}
