//! The folder of tables: which file lies where, what is in it already, and how rows come to it whole.
//!
//! ```text
//! DIR/table=TABLE/day=DAY/service=SERVICE/part-ID.parquet
//! ```
//!
//! A part is the rows of some captures of one day and service, a file for each table that has any. All its files are written beside their names
//! first, then renamed, `captures` last: a part whose file in `captures` is missing was never finished, and the next run removes what there is
//! of it. So a capture is in all tables or in none, however a run ends.

mod partition;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use analysis::output::Draft;
use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};
use crate::file::{self, Contents};
use crate::row::{Cell, Row};
use crate::rows::Rows;
use crate::schema::schema;

pub(crate) use partition::{Partition, part_name};

/// Locked while a run writes.
const LOCK: &str = ".tailtrace-lock";

/// An opened folder of tables.
pub struct Store {
    root: PathBuf,
    /// The IDs of the captures in it.
    known: BTreeSet<String>,
    lock: File,
}

impl Drop for Store {
    /// A process that was started in this moment may hold the descriptor for a little longer.
    fn drop(&mut self) {
        // What could not be locked is not unlocked either.
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

impl Store {
    /// Opens the folder at `root`, which is made where it is missing, and removes what a killed run left.
    ///
    /// # Errors
    /// Where another run writes there; where a file of `captures` cannot be read; what the operating system says.
    pub fn open(root: &Path) -> Result<Store> {
        let cannot = || format!("{} cannot be written", root.display());
        fs::create_dir_all(root).map_err(Error::io(cannot()))?;
        let lock =
            File::options().create(true).append(true).open(root.join(LOCK)).map_err(Error::io(cannot()))?;
        // Some network file systems cannot lock; then only the user can take care.
        if flock(&lock, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
            return Err(Error::Busy(root.to_owned()));
        }
        let mut store = Store { root: root.to_owned(), known: BTreeSet::new(), lock };
        store.tidy()?;
        Ok(store)
    }

    /// Whether the capture of this ID is in the tables.
    pub fn has(&self, capture: &str) -> bool {
        self.known.contains(capture)
    }

    /// The IDs of the captures in the tables.
    pub(crate) fn known(&self) -> &BTreeSet<String> {
        &self.known
    }

    /// How many captures are in the tables.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Adds captures of one day and service as one part.
    ///
    /// # Errors
    /// What the operating system says: then none of them is in the tables.
    pub fn add(&mut self, captures: &[Rows]) -> Result<()> {
        let Some(first) = captures.first() else { return Ok(()) };
        let partition = Partition::of(first.day(), first.service());
        let ids: Vec<&str> = captures.iter().map(Rows::capture).collect();
        let name = part_name(&ids.join(" "));
        let mut tables = Vec::new();
        for place in 0..schema().tables.len() {
            tables.push(captures.iter().flat_map(|rows| rows.of(place)).collect());
        }
        self.publish(&partition, &name, &tables, &[])?;
        self.known.extend(ids.into_iter().map(str::to_owned));
        Ok(())
    }

    /// Writes a part, `captures` last. `tables` are its rows by the table's place.
    pub(crate) fn publish(
        &self,
        partition: &Partition,
        name: &str,
        tables: &[Vec<&Row>],
        replaces: &[String],
    ) -> Result<()> {
        let mut drafts = Vec::new();
        for (table, rows) in schema().tables.iter().zip(tables).rev().filter(|(_, rows)| !rows.is_empty()) {
            let path = self.folder(&table.name, partition).join(name);
            let bytes = file::write(table, rows, replaces)?;
            let cannot = format!("{} cannot be written", path.display());
            let draft = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
                let mut draft = Draft::of(&path)?;
                draft.write_all(&bytes)?;
                Ok(draft)
            });
            drafts.push((cannot.clone(), draft.map_err(Error::io(cannot))?));
        }
        drafts.into_iter().try_for_each(|(cannot, draft)| draft.publish_synced().map_err(Error::io(cannot)))
    }

    /// Where the files of a table's partition lie.
    pub(crate) fn folder(&self, table: &str, partition: &Partition) -> PathBuf {
        partition.within(&self.root.join(format!("table={table}")))
    }

    /// The partitions that hold parts of `table`.
    pub(crate) fn partitions(&self, table: &str) -> Result<Vec<Partition>> {
        partition::all(&self.root.join(format!("table={table}")))
    }

    /// The names of the parts in a table's partition.
    pub(crate) fn parts(&self, table: &str, partition: &Partition) -> Result<Vec<String>> {
        partition::parts(&self.folder(table, partition))
    }

    /// Removes a part, `captures` last: what there is of it before then is still whole to the next run.
    pub(crate) fn remove(&self, partition: &Partition, name: &str) -> Result<()> {
        for table in schema().tables.iter().rev() {
            let path = self.folder(&table.name, partition).join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(format!("{} cannot be removed", path.display()))(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes parts that were not finished and those that others stand in place of, and learns which captures there are.
    fn tidy(&mut self) -> Result<()> {
        let captures = &schema().tables[0];
        let mut finished: BTreeSet<(Partition, String)> = BTreeSet::new();
        for partition in self.partitions(&captures.name)? {
            let folder = self.folder(&captures.name, &partition);
            let mut parts = Vec::new();
            for name in self.parts(&captures.name, &partition)? {
                let Contents { rows, replaces, .. } =
                    file::read(&folder.join(&name), captures, &["capture"])?;
                parts.push((name, rows, replaces));
            }
            let replaced: BTreeSet<String> =
                parts.iter_mut().flat_map(|(.., replaces)| std::mem::take(replaces)).collect();
            for (name, rows, _) in parts {
                if replaced.contains(&name) {
                    self.remove(&partition, &name)?;
                    continue;
                }
                for row in rows {
                    if let Some(Cell::Text(capture)) = row.into_iter().next() {
                        self.known.insert(capture);
                    }
                }
                finished.insert((partition.clone(), name));
            }
        }
        for table in &schema().tables[1..] {
            for partition in self.partitions(&table.name)? {
                for name in self.parts(&table.name, &partition)? {
                    if !finished.contains(&(partition.clone(), name.clone())) {
                        self.remove(&partition, &name)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
