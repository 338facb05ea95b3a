//! Why an analysis cannot be done. Damage that leaves something usable is a diagnostic of the report instead.

use std::io;
use std::path::{Path, PathBuf};

use model::TscRange;

/// What keeps a request from being answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The perf.data cannot be used.
    #[error(transparent)]
    Capture(#[from] perfdata::Error),
    /// The source of the intervals cannot be used.
    #[error(transparent)]
    Intervals(#[from] intervals::Error),
    /// The request names no source, no intervals lie beside the capture, and it is no slice with intervals of its own.
    #[error(
        "say where the intervals come from: --intervals FILE, --begin and --end, --ptwrite, --pt-regions, --function or --requests; without one \
         of these, intervals.csv beside the capture is read, or what record wrote of the program's PTWRITEs, and there is neither"
    )]
    NoSource,
    /// Intervals of another recording, or in another clock than their source says.
    #[error(
        "0 of {count} intervals lie in the recording: it covers TSC {} to {}, they TSC {} to {}; give the intervals of this \
         recording, and check the clock that the first line of their file names",
        recording.start.0, recording.stop.0, intervals.start.0, intervals.stop.0
    )]
    OutsideRecording {
        /// How many there are.
        count: usize,
        /// From the first record or sync point to the last one.
        recording: TscRange,
        /// From the first interval's start to the last one's end.
        intervals: TscRange,
    },
    /// No binary has the function whose calls are the intervals.
    #[error("no binary of this capture has a function called {name}: {}check the name, --symfs and -k", offered(.near))]
    NoFunction {
        /// The requested name.
        name: String,
        /// Functions with names near it.
        near: Vec<String>,
    },
    /// No binary has the table that marks regions of the ITT API.
    #[error(
        "no binary of this capture has the mark table of the ITT API: build ittnotify with -DITT_API_IPT_SUPPORT and src/ittnotify/ittptmark64.S, \
         or check --symfs"
    )]
    NoMarkTable,
    /// No cause is called so.
    #[error("there is no cause {name}{}: docs/causes.md lists them", near.as_ref().map_or_else(String::new, |near| format!("; did you mean {near}?")))]
    NoCause {
        /// The requested name.
        name: String,
        /// A name that is near.
        near: Option<String>,
    },
    /// A slice does not hold the population that is meant.
    #[error("{} is a slice: it holds the intervals that it was cut for, not all of the recording, which is needed here", .0.display())]
    NotInSlice(PathBuf),
    /// No thread that is meant answered a request.
    #[error("--requests {meant}: {why}")]
    NoRequests {
        /// The servers, as the user gave them.
        meant: String,
        /// What there is, or what to do.
        why: String,
    },
    /// A watch ended the search for marks.
    #[error("the scan of the trace was stopped")]
    Stopped,
    /// A percentile that is none.
    #[error("--percentile {0}: a percentile lies between 0 and 100")]
    Percentile(f64),
    /// A limit for the robust z-score that is none.
    #[error("--mad {0}: a limit for the robust z-score is a number from 0 on; 3.5 is usual")]
    MadLimit(f64),
    /// Times of perf's clock are named, and the capture cannot convert them.
    #[error("--time needs perf's clock, and this capture has no conversion to the TSC")]
    NoPerfClock,
    /// Two captures whose lengths have different units.
    #[error(
        "the lengths of {0} are ticks, those of the other capture nanoseconds: they cannot be compared; record {0} without \
         -k, so that the TSC's frequency is known"
    )]
    DifferentUnits(char),
    /// The decoder cannot be made.
    #[error(transparent)]
    Decoder(#[from] pt::Error),
    /// Segments that are no partition of their interval: a bug.
    #[error(transparent)]
    Partition(#[from] model::PartitionError),
    /// The intervals that a slice carries cannot be read.
    #[error("this slice's own list of intervals is damaged: name them with --intervals FILE")]
    SliceNote(#[source] serde_json::Error),
    /// Something of ours cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The operating system refused something that is named in the text.
    #[error("{what}")]
    Io {
        /// What cannot be done, and of which path.
        what: String,
        /// Its reason.
        source: io::Error,
    },
    /// The reader of the output went away, or takes no more.
    #[error("{0}")]
    Output(#[source] io::Error),
    /// The place to write to is taken, and not by a file that may be replaced.
    #[error("{} is there already: name another place", .0.display())]
    Exists(PathBuf),
    /// The place to write to is a file that is read.
    #[error("{} is an input of this command{}: name another place to write to", output.display(), also(input, output))]
    IsInput {
        /// The output.
        output: PathBuf,
        /// The input that is the same file.
        input: PathBuf,
    },
    /// A file that is too large to be packed.
    #[error("{} has {mib} MiB: use --no-binaries", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its length.
        mib: u64,
    },
    /// A bundle that is refused, and why.
    #[error("{0}")]
    Bundle(String),
    /// A bundle, or a part of it, cannot be used.
    #[error("{what}")]
    BundlePart {
        /// Which, and what is wrong with it.
        what: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The result of a step of the analysis.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// `did you mean parse.part.0 or server::parse? `, where there are such.
fn offered(near: &[String]) -> String {
    match near.split_last() {
        None => String::new(),
        Some((only, [])) => format!("did you mean {only}? Else "),
        Some((last, others)) => format!("did you mean {} or {last}? Else ", others.join(", ")),
    }
}

/// ` (NAME)` of a file that is meant by another name.
fn also(name: &Path, meant: &Path) -> String {
    if name == meant { String::new() } else { format!(" ({})", name.display()) }
}

impl Error {
    /// For `map_err`: the operating system's refusal of what `what` says.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }

    /// For `map_err`: why the part of a bundle that `what` names cannot be used.
    pub(crate) fn bundle<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        what: impl Into<String>,
    ) -> impl FnOnce(E) -> Error {
        let what = what.into();
        move |source| Error::BundlePart { what, source: source.into() }
    }
}
