//! The files of a bundle: slice, binaries, reports, README, manifest.

use std::collections::BTreeMap;

use report::Report;

use super::binaries::{self, Packed, Packing};
use super::layout::{Content, SLICE, SYMFS, in_bundle};
use super::{manifest, readme};
use crate::error::Result;
use crate::slice::Slice;

/// All files of the bundle, the manifest last with these `tags`, and which of the files that served for code and names are among them, as far as
/// `packing` allows. The slice's report is the bundle's from then on, and its perf.data is taken out of it.
///
/// # Errors
/// Where a binary is too large.
pub fn contents(
    slice: &mut Slice,
    packing: Packing,
    tags: &BTreeMap<String, String>,
) -> Result<(Vec<Content>, Packed)> {
    if packing == Packing::Nothing {
        slice.code_copies = None;
    }
    let mut files = slice_files(slice);
    let (binaries, packed) = binaries::contents(slice, packing)?;
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
        tags: tags.clone(),
    };
    let remains = slice.redaction.as_ref().map(|redaction| redaction.remains(symfs.is_some()));
    let readme = readme::text(&slice.report, symfs.is_some(), remains.as_deref());
    files.push(("README.md".to_owned(), readme.into_bytes()));
    let listed = files.iter().map(|(path, bytes)| (path.as_str(), &bytes[..]));
    let manifest = manifest::Manifest::new(facts, listed, &packed).text()?;
    files.push((manifest::NAME.to_owned(), manifest.into_bytes()));
    Ok((files, packed))
}

fn slice_files(slice: &mut Slice) -> Vec<Content> {
    let perf_data = std::mem::take(&mut slice.perf_data);
    // The places of `companion`.
    let beside = |dot: char| {
        slice.own_companions().map(move |(name, bytes)| (format!("{SLICE}{dot}{name}"), bytes.to_vec()))
    };
    let Some(kernel) = &slice.kernel else {
        return [(SLICE.to_owned(), perf_data)].into_iter().chain(beside('.')).collect();
    };
    let mut files = vec![(format!("{SLICE}/data"), perf_data)];
    files.extend(beside('/'));
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
