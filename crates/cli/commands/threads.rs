//! How many threads decode: those of rayon's global pool, which is made once.

use anyhow::Result;

/// Makes the pool with so many threads; by default it has one for each CPU.
pub(super) fn limit(jobs: Option<usize>) -> Result<()> {
    if let Some(jobs) = jobs {
        rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global()?;
    }
    Ok(())
}
