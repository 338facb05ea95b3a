//! Tables of many captures: what one explanation found becomes rows, and rows become Parquet files that SQL engines read.
//!
//! ```text
//! perf.data, slice, bundle → analysis → Report → Rows → part-….parquet
//! ```
//!
//! Input: a capture and the tags that go along ([`Delivery`]). Output: its [`Rows`] in all tables, of a file that cannot be read a row with
//! the reason; a [`Store`] keeps them, each capture once. [`schema`](fn@schema) is the one list of tables and columns, `docs/fleet-tables.md` its page.
#![doc = include_str!("../README.md")]

mod compact;
mod error;
mod explained;
mod file;
mod hash;
mod ingest;
mod row;
mod rows;
mod schema;
mod store;
mod worker;

pub use compact::{Compacted, compact};
pub use error::{Error, Result};
pub use explained::{Delivery, explain, of_study, without_rows};
pub use ingest::{Ingested, found, ingest};
pub use rows::Rows;
pub use schema::{Column, Kind, Schema, TABLES, Table, schema};
pub use store::Store;
pub use worker::{Limits, announced, confine, supervised};
