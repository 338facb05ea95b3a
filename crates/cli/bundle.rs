//! `tailtrace bundle`: some outliers for a ticket, and opening what a colleague got.
//!
//! A bundle holds the report in three formats, the slice it was made from, and the files that served for code and names,
//! so that `tailtrace explain BUNDLE` gives the same report on a machine that has nothing else.
//! `docs/slice-and-bundle.md` is the contract.

mod binaries;
mod manifest;
mod open;
mod pack;
mod readme;
mod redact;
mod unpack;

use anyhow::{Result, ensure};
use report::Report;

use crate::args::BundleArgs;
use crate::output::{self, Outcome};
use crate::slice::{self, Slice};
use crate::study::Listing;

pub(crate) use open::Opened;
pub(crate) use redact::Redaction;

/// The slice's place in a bundle.
const SLICE: &str = "slice";
/// The binaries' place.
const SYMFS: &str = "symfs";

/// A file in the making: its path in the bundle, its contents.
pub(crate) type Content = (String, Vec<u8>);

/// Runs the command.
pub(crate) fn run(args: &BundleArgs) -> Result<Outcome> {
    ensure!(!args.output.exists(), "{} is there already: name another place", args.output.display());
    // The code listing shows source lines and the paths of their files.
    let listing = if args.redact { Listing::None } else { Listing::Wanted };
    let (mut slice, outcome) = slice::make(&args.analysis, listing, args.redact)?;
    output::print_diagnostics(&slice.report.diagnostics);
    if outcome == Outcome::NothingSelected {
        return Ok(outcome);
    }
    let files = contents(args, &mut slice)?;
    pack::write(&args.output, &files)?;
    if let Some(redaction) = &slice.redaction {
        output::print_result(&redaction.remains(!args.no_binaries))?;
    }
    Ok(outcome)
}

/// All files of the bundle, the manifest last.
fn contents(args: &BundleArgs, slice: &mut Slice) -> Result<Vec<Content>> {
    let mut files = slice_files(slice);
    let binaries = if args.no_binaries { Vec::new() } else { binaries::contents(slice)? };
    let symfs = (!binaries.is_empty()).then(|| SYMFS.to_owned());
    files.extend(binaries);
    in_bundle(&mut slice.report, symfs.as_deref());
    files.extend(reports(&slice.report));
    let facts = &slice.report.capture;
    let recorded_with = [("Linux", &facts.os_release), ("perf", &facts.perf_version)];
    let recorded_with =
        recorded_with.into_iter().filter_map(|(of, version)| Some(format!("{of} {}", version.as_ref()?)));
    let facts = manifest::Facts {
        recorded_with: recorded_with.collect(),
        slice: SLICE.to_owned(),
        symfs: symfs.clone(),
        redacted: slice.redaction.is_some(),
    };
    let remains = slice.redaction.as_ref().map(|redaction| redaction.remains(symfs.is_some()));
    let readme = readme::text(&slice.report, symfs.is_some(), remains.as_deref());
    files.push(("README.md".to_owned(), readme.into_bytes()));
    let listed = files.iter().map(|(path, bytes)| (path.as_str(), &bytes[..]));
    let manifest = manifest::Manifest::new(facts, listed).text()?;
    files.push((manifest::NAME.to_owned(), manifest.into_bytes()));
    Ok(files)
}

fn slice_files(slice: &mut Slice) -> Vec<Content> {
    let perf_data = std::mem::take(&mut slice.perf_data);
    let machine = slice.machine.as_ref().map(|text| text.clone().into_bytes());
    // The places of `Machine::place`.
    let Some(kernel) = &slice.kernel else {
        let machine = machine.map(|bytes| (format!("{SLICE}.machine.json"), bytes));
        return [(SLICE.to_owned(), perf_data)].into_iter().chain(machine).collect();
    };
    let mut files = vec![(format!("{SLICE}/data"), perf_data)];
    files.extend(machine.map(|bytes| (format!("{SLICE}/machine.json"), bytes)));
    files.extend(kernel.files().map(|(name, bytes)| (format!("{SLICE}/kcore_dir/{name}"), bytes.to_vec())));
    files
}

fn reports(report: &Report) -> Vec<Content> {
    vec![
        ("report.md".to_owned(), report::render_markdown(report).into_bytes()),
        ("report.html".to_owned(), report::render_html(report).into_bytes()),
        ("report.json".to_owned(), report::render_json(report).into_bytes()),
    ]
}

/// Makes the report's paths those of the bundle's folder, where its commands work.
pub(crate) fn in_bundle(report: &mut Report, symfs: Option<&str>) {
    report.capture.path = Some(SLICE.to_owned());
    for outlier in &mut report.outliers {
        let own = std::mem::take(outlier).with_perf_script(SLICE);
        *outlier = match symfs {
            Some(symfs) => own.with_perf_option("--symfs", symfs),
            None => own,
        };
    }
}
