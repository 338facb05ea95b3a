//! Many lengths in a few figures.

use schemars::JsonSchema;
use serde::Serialize;

use crate::distribution::Lengths;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "lengths")]
pub(super) struct LengthsTwin {
    count: u64,
    total_ns: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

impl LengthsTwin {
    pub(super) fn new(lengths: &Lengths) -> LengthsTwin {
        LengthsTwin {
            count: lengths.count,
            total_ns: lengths.total_ns,
            p50_ns: lengths.p50_ns,
            p99_ns: lengths.p99_ns,
            max_ns: lengths.max_ns,
        }
    }
}
