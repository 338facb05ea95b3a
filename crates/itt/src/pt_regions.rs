//! Regions that the program marks in its Intel PT trace: their numbers, and a file that says which name has which.
//!
//! The marks themselves are jumps of the program's own (`ittptmark64.S`); no call reaches the collector.

use std::ffi::{CStr, c_char};
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::abi::text;
use crate::names::kept;

/// The last number that a mark can state; it stands for all regions from there on.
const LAST: u8 = 127;
/// Its name.
const OTHERS: &CStr = c"other regions";

/// The names by number, as far as they are known.
static REGIONS: Mutex<Vec<&CStr>> = Mutex::new(Vec::new());

/// `__itt_pt_region_createA`: the region's number, one for each name.
pub(crate) extern "C" fn pt_region_create(name: *const c_char) -> u8 {
    let Some(name) = text(name) else { return LAST };
    let mut regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = regions.iter().position(|&region| region == name) {
        return u8::try_from(known).unwrap_or(LAST);
    }
    let number = u8::try_from(regions.len()).unwrap_or(LAST).min(LAST);
    if regions.len() <= usize::from(LAST) {
        regions.push(if number == LAST { OTHERS } else { kept(name) });
        write(&regions);
    }
    number
}

/// Names are few, and created when the program begins: the file is written anew with each.
fn write(regions: &[&CStr]) {
    let path = path();
    if let Err(error) = fs::write(&path, lines(regions)) {
        eprintln!("tailtrace: {}: the names of PT regions cannot be written: {error}", path.display());
    }
}

/// Beside the file of marks.
fn path() -> PathBuf {
    let mut path = marks::default_path().into_os_string();
    path.push(".pt-regions");
    path.into()
}

/// A line for each region: its number and its name.
fn lines(regions: &[&CStr]) -> String {
    let line = |(number, name): (usize, &&CStr)| {
        let name = name.to_string_lossy().replace(char::is_control, " ");
        format!("{number} {name}\n")
    };
    regions.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_line_whatever_it_holds() {
        assert_eq!(lines(&[c"parse", c"two\nlines", c"\xff"]), "0 parse\n1 two lines\n2 \u{fffd}\n");
    }
}
