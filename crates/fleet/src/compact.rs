//! Many small parts of a day and service as few large ones.
//!
//! A stream of captures leaves a part for each run. Compaction writes the rows of some parts as one, which names them, and removes them after that: a
//! killed run is finished by the next one that writes there. Until then readers see these captures twice, so nothing should read at that time.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::file;
use crate::row::Row;
use crate::schema::schema;
use crate::store::{Partition, Store, part_name};

/// A part with so many captures stays as it is.
const CAPTURES: usize = 1000;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Parts before.
    pub before: usize,
    /// Parts after.
    pub after: usize,
    /// Columns of parts that a later version wrote, by table and name: these parts stay as they are.
    pub unknown: Vec<String>,
}

/// A part's rows by the table's place.
type Part = Vec<Vec<Row>>;

/// Joins parts with fewer than a thousand captures, until they have so many. Columns that older parts lack are null.
///
/// # Errors
/// Where a file cannot be read or written; then all parts are as they were, or as they should be.
pub fn compact(store: &Store) -> Result<Compacted> {
    let mut compacted = Compacted::default();
    let mut unknown = BTreeSet::new();
    for partition in store.partitions(&schema().tables[0].name)? {
        let names = store.parts(&schema().tables[0].name, &partition)?;
        compacted.before += names.len();
        compacted.after += names.len();
        let (mut joined, mut part): (Vec<String>, Part) = (Vec::new(), empty());
        for name in names {
            let (read, others) = read(store, &partition, &name)?;
            if !others.is_empty() {
                unknown.extend(others);
                continue;
            }
            if read[0].len() >= CAPTURES {
                continue;
            }
            joined.push(name);
            part.iter_mut().zip(read).for_each(|(rows, more)| rows.extend(more));
            if part[0].len() >= CAPTURES {
                compacted.after -= join(store, &partition, &joined, &part)?;
                (joined, part) = (Vec::new(), empty());
            }
        }
        compacted.after -= join(store, &partition, &joined, &part)?;
    }
    compacted.unknown = unknown.into_iter().collect();
    Ok(compacted)
}

fn empty() -> Part {
    vec![Vec::new(); schema().tables.len()]
}

/// The rows of a part in all tables, and the columns that this version does not know.
fn read(store: &Store, partition: &Partition, name: &str) -> Result<(Part, Vec<String>)> {
    let (mut part, mut unknown) = (empty(), Vec::new());
    for (rows, table) in part.iter_mut().zip(&schema().tables) {
        let path = store.folder(&table.name, partition).join(name);
        if path.exists() {
            let contents = file::read(&path, table, &[])?;
            unknown.extend(contents.unknown.iter().map(|column| format!("{}.{column}", table.name)));
            *rows = contents.rows;
        }
    }
    Ok((part, unknown))
}

/// Writes the part that stands in place of `joined`, and removes these; by how many parts there are fewer.
fn join(store: &Store, partition: &Partition, joined: &[String], part: &Part) -> Result<usize> {
    if joined.len() < 2 {
        return Ok(0);
    }
    let name = part_name(&joined.join(" "));
    let tables: Vec<Vec<&Row>> = part.iter().map(|rows| rows.iter().collect()).collect();
    store.publish(partition, &name, &tables, joined)?;
    joined.iter().try_for_each(|name| store.remove(partition, name))?;
    Ok(joined.len() - 1)
}

#[cfg(test)]
mod tests;
