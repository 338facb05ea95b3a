//! `tailtrace bundle`: some outliers for a ticket.

use analysis::bundle::Packing;
use analysis::output::{Kind, check};
use analysis::study::{Listing, Outcome as Explained};
use analysis::{bundle, slice};
use anyhow::Result;

use super::threads;
use crate::args::BundleArgs;
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &BundleArgs) -> Result<Outcome> {
    // The code listing shows source lines and the paths of their files.
    let listing = if args.redact { Listing::None } else { Listing::Wanted };
    let mut request = args.analysis.request()?;
    let kind = if bundle::is_archive(&args.output) { Kind::File } else { Kind::Folder };
    check(&args.output, kind, &request.inputs()).map_err(advice::on)?;
    request.outputs = vec![args.output.clone()];
    threads::limit(args.analysis.effort.threads())?;
    let made = slice::make(&request, &meter::on_stderr(), listing, args.redact);
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
    let (files, packed) = bundle::contents(&mut slice, packing).map_err(advice::on)?;
    bundle::write(&args.output, &files).map_err(advice::on)?;
    if packing != Packing::Nothing {
        output::print_result(&packed.to_string())?;
    }
    if let Some(redaction) = &slice.redaction {
        output::print_result(&redaction.remains(!args.no_binaries))?;
    }
    Ok(outcome.into())
}
