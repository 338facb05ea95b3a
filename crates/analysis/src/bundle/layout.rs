//! What lies where in a bundle.

use report::{OutlierReport, Report};

/// The slice's place in a bundle.
pub(super) const SLICE: &str = "slice";
/// The binaries' place.
pub(super) const SYMFS: &str = "symfs";

/// A file in the making: its path in the bundle, its contents.
pub type Content = (String, Vec<u8>);

/// Makes the report's paths those of the bundle's folder, where its commands work.
pub(super) fn in_bundle(report: &mut Report, symfs: Option<&str>) {
    report.capture.path = Some(SLICE.to_owned());
    for outlier in &mut report.outliers {
        // The slice holds little of other intervals than these.
        let own = OutlierReport { server_requests: String::new(), ..std::mem::take(outlier) };
        let own = own.with_perf_script(SLICE);
        *outlier = match symfs {
            Some(symfs) => own.with_option("--symfs", symfs),
            None => own,
        };
    }
}
