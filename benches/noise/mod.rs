//! The emulated capture `noise` of the fixtures, unpacked once per run: what benches decode.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use analysis::Capture;
use analysis::request::{Code, Input};
use model::{Cpu, ThreadId};
use perfdata::PerfData;
use pt::PtStream;

/// The unpacked fixture.
pub(crate) fn root() -> &'static PathBuf {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/captures/noise.tar.zst");
        let tar = Command::new("tar").args(["--zstd", "-xf", archive, "-C"]).arg(&target).status();
        assert!(tar.expect("tar runs").success(), "{archive} cannot be unpacked");
        target.join("noise")
    })
}

/// Its records.
pub(crate) fn perf_data() -> &'static PerfData {
    static OPENED: OnceLock<PerfData> = OnceLock::new();
    OPENED.get_or_init(|| PerfData::open(&root().join("perf.data")).expect("the fixture opens"))
}

/// The capture, opened.
pub(crate) fn capture() -> Capture<'static> {
    let code = Code { symfs: Some(root().join("symfs")), ..Code::default() };
    Capture::new(perf_data(), &Input { path: root().join("perf.data"), code, ..Input::default() })
}

/// The trace of the CPU on which the program ran.
pub(crate) fn stream<'c>(capture: &'c Capture<'static>) -> &'c PtStream<'static> {
    capture.stream(Some(Cpu(1)), ThreadId::new(0, 0)).expect("the fixture has a trace of CPU 1")
}
