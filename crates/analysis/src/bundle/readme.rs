//! The bundle's `README.md`: what it is, how a colleague looks at it, and how they check it without tailtrace.

use std::fmt::Write as _;

use report::Report;

use super::layout::{SLICE, SYMFS};

/// The text; `remains` is what a redaction left.
pub(super) fn text(report: &Report, has_binaries: bool, remains: Option<&str>) -> String {
    let mut text = String::from("# Slow intervals, explained\n\n");
    for outlier in &report.outliers {
        let _ =
            writeln!(text, "* interval {}: {}", outlier.id, report::for_message(&report::headline(outlier)));
    }
    text += "\nRead `report.md` (or `report.html` in a browser; it needs no network). `report.json` has the same for programs.\n";
    text += "\n## Look closer\n\n    tailtrace explain .          the same report, from the slice in this folder\n";
    text += "    tailtrace explain . --html again.html\n";
    if !has_binaries {
        text += "\nThe program's files are not in this bundle: name a folder that holds them with `--symfs DIR`.\n";
    }
    text += "\n## Check it with stock perf\n\n";
    for outlier in report.outliers.iter().filter(|outlier| !outlier.perf_script.is_empty()) {
        let _ = writeln!(text, "    {}", report::for_message(&outlier.perf_script));
    }
    let _ = writeln!(
        text,
        "\n`{SLICE}` is a perf.data that holds the trace and the records of these intervals and of the typical intervals they are \
         compared with. Offsets of records in the reports are those of the recording it was cut from."
    );
    if has_binaries {
        let _ = writeln!(
            text,
            "`{SYMFS}` holds the program's files, by build ID if the recording has it: perf finds those with \
             `perf --buildid-dir {SYMFS}/.debug script …`."
        );
    }
    text += "`manifest.json` lists all files with their SHA-256.\n";
    if let Some(remains) = remains {
        let _ = write!(text, "\n## Redacted\n\n{remains}");
    }
    text
}
