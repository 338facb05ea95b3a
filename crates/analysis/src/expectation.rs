//! What a figure of the population should be, as continuous integration asks: `p99 < 200us`, `share(offcpu.lock) < 5%`.
//!
//! Plain values; [`Study::expect`](crate::study::Study::expect) measures, and so does
//! [`difference_expecting`](crate::study::difference_expecting) for two captures.

use model::Cause;

use crate::error::{Error, Result};
use crate::nearest::nearest;

/// A figure and its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// As it was written.
    pub text: String,
    /// Of what.
    pub figure: Figure,
    /// On which side of the limit it should lie.
    pub relation: Relation,
    /// The limit.
    pub limit: Limit,
}

/// A figure of a population.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// The percentile of durations by nearest rank; from 0 to 100.
    Percentile(f64),
    /// The mean of all durations.
    Mean,
    /// The longest duration.
    Highest,
    /// The share of this cause, and of those below its name, in the excess of all outliers; [`checked_cause`] has seen the name.
    Share(String),
}

/// How a figure lies to its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// What a figure is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A duration in nanoseconds.
    Duration(u64),
    /// A share, from 0 to 1.
    Share(f64),
    /// So many times the figure of the other capture.
    Ratio(f64),
}

impl Relation {
    /// Whether `figure` lies so to `limit`.
    pub fn holds(self, figure: f64, limit: f64) -> bool {
        match self {
            Relation::Less => figure < limit,
            Relation::LessOrEqual => figure <= limit,
            Relation::Greater => figure > limit,
            Relation::GreaterOrEqual => figure >= limit,
        }
    }
}

/// Whether `cause`, a dotted name, is `name` or lies below it, as `kernel.syscall.read` below `kernel.syscall`.
pub(crate) fn is_below(cause: &str, name: &str) -> bool {
    cause.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The name, where it is that of a cause or of a group of them: a mistyped one would have a share of nothing for ever.
///
/// # Errors
/// [`Error::NoCause`] with a name that is near.
pub fn checked_cause(name: &str) -> Result<String> {
    let all: Vec<String> = Cause::all().iter().map(Cause::to_string).collect();
    // The names that end in a dot go on as the capture has it.
    let is_known = |cause: &String| match cause.strip_suffix('.') {
        Some(group) => {
            is_below(group, name) || (name.starts_with(cause.as_str()) && name.len() > cause.len())
        }
        None => is_below(cause, name),
    };
    if !name.is_empty() && !name.ends_with('.') && all.iter().any(is_known) {
        return Ok(name.to_owned());
    }
    let near = nearest(name, all.iter().map(|cause| cause.trim_end_matches('.')));
    Err(Error::NoCause { name: name.to_owned(), near: near.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_and_groups_of_them_have_shares() {
        for name in
            ["offcpu.lock", "offcpu", "kernel", "kernel.syscall", "kernel.syscall.futex", "unexplained"]
        {
            assert_eq!(checked_cause(name).expect(name), name);
        }
        for (name, near) in [
            ("offcpu.lokc", Some("offcpu.lock")),
            ("off", None),
            ("kernel.", None),
            ("", None),
            ("kernel.sys", None),
        ] {
            let Err(Error::NoCause { near: offered, .. }) = checked_cause(name) else { panic!("{name}") };
            if near.is_some() {
                assert_eq!(offered.as_deref(), near, "{name}");
            }
        }
    }

    #[test]
    fn groups_are_cut_at_dots() {
        assert!(is_below("kernel.syscall.read", "kernel"));
        assert!(is_below("offcpu.lock", "offcpu.lock"));
        assert!(!is_below("kernel.schedule", "kernel.s"));
    }
}
