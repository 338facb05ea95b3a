//! The source of intervals that lies beside a capture.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::request::{Request, Source, ptwrite_beside};

/// Most bytes of what PTWRITE payloads mean.
const LONGEST_SPEC: u64 = 4096;

/// What is read where no source is named and the capture carries no intervals: an interval file, or what the program's PTWRITEs mean
/// ([`ptwrite_beside`]); and the file that it is in.
///
/// # Errors
/// [`Error::NoSource`] where neither lies there; what is wrong with the second one.
pub(crate) fn source_beside(request: &Request) -> Result<(Source, PathBuf)> {
    if let Some(path) = request.intervals_beside() {
        return Ok((Source::File(path.clone()), path));
    }
    let path = ptwrite_beside(&request.input.path);
    if request.input.code.contained || !path.is_file() {
        return Err(Error::NoSource);
    }
    let mut text = String::new();
    let file = File::open(&path).and_then(|file| file.take(LONGEST_SPEC).read_to_string(&mut text));
    file.map_err(Error::io(format!("{} cannot be read", path.display())))?;
    Ok((Source::Ptwrite(text.trim().parse()?), path))
}
