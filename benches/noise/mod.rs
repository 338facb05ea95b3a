//! The emulated capture `noise` of the fixtures, unpacked once per run: what benches decode.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use model::{Cpu, Tsc};
use perfdata::PerfData;
use pt::{Occupant, Piece, PtStream};
use symbols::{ProcessImages, SearchPath};

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

/// The trace of the CPU on which the program ran.
pub(crate) fn stream() -> PtStream<'static> {
    let perf = perf_data();
    let pieces = perf.aux_buffers().iter().filter(|buffer| buffer.cpu == Some(Cpu(1))).map(|buffer| Piece {
        bytes: perf.aux_bytes(buffer),
        aux_offset: buffer.aux_offset,
        file_offset: buffer.file_offset,
    });
    PtStream::new(Some(Cpu(1)), None, pieces, false).0
}

/// Its code and names.
pub(crate) fn images() -> ProcessImages {
    let perf = perf_data();
    let conversion = perf.time_conversion().expect("the fixture joins its clocks");
    let events = perf.map_events().into_iter();
    let events =
        events.map(|(time, event)| (if time.0 == 0 { Tsc(0) } else { conversion.to_tsc(time) }, event));
    let search = SearchPath {
        symfs: Some(root().join("symfs")),
        kcore_dir: perf.kcore_dir().map(PathBuf::from),
        ..SearchPath::default()
    };
    ProcessImages::new(search, events.collect(), Vec::new())
}

/// Who was on the CPU of [`stream`], from when on.
pub(crate) fn occupants() -> Vec<Occupant> {
    let conversion = perf_data().time_conversion().expect("the fixture joins its clocks");
    let runs = perf_data().schedule().on_cpu(Cpu(1));
    runs.map(|run| Occupant { since: conversion.to_tsc(run.start), thread: run.thread }).collect()
}
