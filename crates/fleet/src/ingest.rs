//! Many captures into one folder of tables: on all cores, each once, whatever is wrong with some of them.
//!
//! Input: deliveries, and what makes rows of one. Output: parts of some hundred captures in the [`Store`]. A capture that is in the tables is
//! skipped: the same one delivered twice, or a run that is started again, gives no row twice. Only what keeps the tables from being written is an error;
//! what was written until then stays valid.

mod found;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::error::Result;
use crate::explained::Delivery;
use crate::hash;
use crate::rows::Rows;
use crate::store::Store;

pub use found::found;

/// Captures of a part.
const CAPTURES: usize = 100;
/// Rows that wait for their part, of all partitions; then the largest is written, however few captures it has.
const WAITING: usize = 500_000;
/// Larger files are hashed where they are explained, and not before.
const HASHED_FIRST: u64 = 1 << 30;

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Files that were found.
    pub found: usize,
    /// Captures that came to the tables, with rows or with the reason why there are none.
    pub added: usize,
    /// Those of them that have no rows.
    pub without_rows: usize,
    /// Captures that were in the tables already.
    pub skipped: usize,
}

/// Adds `deliveries` to `store`. `explain` makes rows of one, and none where the function that it is given does not want the capture's ID; it runs on
/// `jobs` threads. `show` is called after each capture.
///
/// # Errors
/// Where a table cannot be written: the captures of that part are not in the tables, and the next run adds them.
pub fn ingest(
    store: &mut Store,
    deliveries: &[Delivery],
    jobs: usize,
    explain: impl Fn(&Delivery, &dyn Fn(&str) -> bool) -> Option<Rows> + Sync,
    mut show: impl FnMut(&Ingested),
) -> Result<Ingested> {
    let claimed = Mutex::new(store.known().clone());
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut ingested = Ingested { found: deliveries.len(), ..Ingested::default() };
    let mut waiting = Waiting::default();
    thread::scope(|scope| {
        let (sender, results) = sync_channel(2 * jobs.max(1));
        for _ in 0..jobs.max(1) {
            let (sender, claimed, next, is_over, explain) =
                (sender.clone(), &claimed, &next, &is_over, &explain);
            scope.spawn(move || {
                while let Some(delivery) = deliveries.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let rows = rows_of(delivery, claimed, explain);
                    if is_over.load(Ordering::Relaxed) || sender.send(rows).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let add_all = || {
            for rows in results {
                match rows {
                    Some(rows) => {
                        ingested.added += 1;
                        ingested.without_rows += usize::from(!rows.error().is_empty());
                        waiting.add(store, rows)?;
                    }
                    None => ingested.skipped += 1,
                }
                show(&ingested);
            }
            waiting.finish(store)
        };
        let added = add_all();
        is_over.store(true, Ordering::Relaxed);
        added
    })?;
    Ok(ingested)
}

/// The rows of a delivery; `None` where its capture is in the tables, or on its way there.
fn rows_of(
    delivery: &Delivery,
    claimed: &Mutex<BTreeSet<String>>,
    explain: &(impl Fn(&Delivery, &dyn Fn(&str) -> bool) -> Option<Rows> + Sync),
) -> Option<Rows> {
    let known = || claimed.lock().unwrap_or_else(PoisonError::into_inner);
    // Of a perf.data this is the capture's ID, and of what could not be read the last time.
    let is_small =
        fs::metadata(delivery.path()).is_ok_and(|meta| meta.is_file() && meta.len() <= HASHED_FIRST);
    if is_small && known().contains(&hash::of_unreadable(delivery.path(), &delivery.uri)) {
        return None;
    }
    let accepted = RefCell::new(None);
    let rows = explain(delivery, &|capture| {
        let is_new = known().insert(capture.to_owned());
        accepted.replace(is_new.then(|| capture.to_owned()));
        is_new
    })?;
    // The row of a file that cannot be read has an ID of its own.
    let is_accepted = accepted.into_inner().is_some_and(|capture| capture == rows.capture());
    (is_accepted || known().insert(rows.capture().to_owned())).then_some(rows)
}

/// Captures that wait for others of their day and service.
#[derive(Default)]
struct Waiting {
    captures: BTreeMap<(String, String), Vec<Rows>>,
    rows: usize,
}

impl Waiting {
    fn add(&mut self, store: &mut Store, rows: Rows) -> Result<()> {
        self.rows += rows.count();
        let partition = (rows.day().to_owned(), rows.service().to_owned());
        let others = self.captures.entry(partition.clone()).or_default();
        others.push(rows);
        if others.len() >= CAPTURES {
            return self.write(store, &partition);
        }
        while self.rows > WAITING {
            let size = |captures: &[Rows]| captures.iter().map(Rows::count).sum::<usize>();
            let largest = self.captures.iter().max_by_key(|(_, captures)| size(captures));
            let Some(largest) = largest.map(|(partition, _)| partition.clone()) else { break };
            self.write(store, &largest)?;
        }
        Ok(())
    }

    fn write(&mut self, store: &mut Store, partition: &(String, String)) -> Result<()> {
        let Some(captures) = self.captures.remove(partition) else { return Ok(()) };
        self.rows = self.rows.saturating_sub(captures.iter().map(Rows::count).sum());
        store.add(&captures)
    }

    fn finish(&mut self, store: &mut Store) -> Result<()> {
        while let Some(partition) = self.captures.keys().next().cloned() {
            self.write(store, &partition)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
