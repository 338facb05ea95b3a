//! `tailtrace bundle`: some outliers for a ticket.

use std::path::Path;

use analysis::bundle::Packing;
use analysis::output::{Kind, check};
use analysis::study::{Listing, Outcome as Explained};
use analysis::{bundle, slice};
use anyhow::{Result, ensure};

use super::threads;
use crate::args::BundleArgs;
use crate::input::Reading;
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &BundleArgs) -> Result<Outcome> {
    ensure!(
        bundle::is_archive(&args.output) || !is_other_archive(&args.output),
        "{}: a bundle is a folder, or an archive whose name ends in .tar.zst",
        args.output.display()
    );
    // The code listing shows source lines and the paths of their files.
    let listing = if args.redact { Listing::None } else { Listing::Wanted };
    let mut reading = Reading::open(args.analysis.request()?)?;
    let kind = if bundle::is_archive(&args.output) { Kind::File } else { Kind::Folder };
    check(&args.output, kind, &reading.inputs()).map_err(advice::on)?;
    reading.request.outputs = vec![args.output.clone()];
    threads::limit(args.analysis.effort.threads())?;
    let made = slice::make(&reading.request, &meter::on_stderr(), listing, args.redact);
    let (mut slice, outcome) = made.map_err(advice::on)?;
    output::print_diagnostics(&slice.report.diagnostics);
    if outcome == Explained::NothingSelected {
        return Ok(outcome.into());
    }
    let packing = match args {
        BundleArgs { no_binaries: true, .. } => Packing::Nothing,
        BundleArgs { pack_unverified: true, .. } => Packing::Unverified,
        _ => Packing::Verified,
    };
    let (files, packed) = bundle::contents(&mut slice, packing, &args.tags.by_name()).map_err(advice::on)?;
    bundle::write(&args.output, &files).map_err(advice::on)?;
    output::print_written(&args.output);
    if packing != Packing::Nothing {
        output::print_result(&packed.to_string())?;
    }
    if let Some(redaction) = &slice.redaction {
        output::print_result(&redaction.remains(!args.no_binaries))?;
    }
    Ok(outcome.into())
}

/// Names that end so promise an archive of another kind.
const OTHER_ARCHIVES: [&str; 9] = ["zip", "tar", "tgz", "tzst", "gz", "xz", "bz2", "zst", "7z"];

fn is_other_archive(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    extension.is_some_and(|extension| OTHER_ARCHIVES.contains(&&*extension))
}
