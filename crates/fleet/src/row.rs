//! Rows: a type for each table, and what all of them become, cells in the order of the table's columns.

use serde_json::{Map, Number, Value as Json};

use crate::error::{Error, Result};
use crate::schema::{Column, Kind, Table};

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Text(String),
    Int(i64),
    Float(f64),
}

/// The cells of a row, in the order of its table's columns.
pub(crate) type Row = Vec<Cell>;

/// A row of one table, typed.
pub(crate) trait TableRow {
    /// The table.
    const TABLE: &'static str;
    /// Name, type and whether it may be null, in the order of the cells.
    const FIELDS: &'static [(&'static str, Kind, bool)];
    fn into_cells(self) -> Row;
}

/// A field of a row.
trait Field {
    const KIND: Kind;
    const NULLABLE: bool = false;
    fn into_cell(self) -> Cell;
}

impl Field for String {
    const KIND: Kind = Kind::String;
    fn into_cell(self) -> Cell {
        Cell::Text(self)
    }
}

impl Field for i64 {
    const KIND: Kind = Kind::Int64;
    fn into_cell(self) -> Cell {
        Cell::Int(self)
    }
}

impl Field for f64 {
    const KIND: Kind = Kind::Double;
    fn into_cell(self) -> Cell {
        Cell::Float(self)
    }
}

impl<T: Field> Field for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    fn into_cell(self) -> Cell {
        self.map_or(Cell::Null, T::into_cell)
    }
}

/// The type of a table's rows. What the fields mean stands in `tables.json`.
macro_rules! table_row {
    ($name:ident of $table:literal { $($field:ident: $kind:ty,)* }) => {
        #[doc = concat!("A row of `", $table, "`.")]
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name {
            $(pub(crate) $field: $kind,)*
        }

        impl TableRow for $name {
            const TABLE: &'static str = $table;
            const FIELDS: &'static [(&'static str, Kind, bool)] =
                &[$((stringify!($field), <$kind as Field>::KIND, <$kind as Field>::NULLABLE),)*];
            fn into_cells(self) -> Row {
                vec![$(self.$field.into_cell(),)*]
            }
        }
    };
}

table_row! { CaptureRow of "captures" {
    capture: String,
    uri: String,
    day: String,
    service: String,
    host: Option<String>,
    release: Option<String>,
    tags: Option<String>,
    build_ids: Option<String>,
    cpu_model: Option<String>,
    cpuid: Option<String>,
    microcode: Option<String>,
    kernel: Option<String>,
    perf_version: Option<String>,
    begin_ns: Option<i64>,
    end_ns: Option<i64>,
    tsc_hz: Option<i64>,
    bytes: i64,
    trace_bytes: Option<i64>,
    lost_records: Option<i64>,
    truncated_aux: Option<i64>,
    trigger: Option<String>,
    weight: f64,
    skipped_triggers: Option<i64>,
    status: String,
    error: Option<String>,
    tool_version: String,
    options: String,
    whole: Option<String>,
}}

table_row! { PopulationRow of "populations" {
    capture: String,
    label: String,
    count: i64,
    outliers: i64,
    explained: i64,
    rule: String,
    sum_ns: i64,
    max_ns: i64,
    p50_ns: i64,
    p99_ns: i64,
    sketch: String,
}}

table_row! { IntervalRow of "intervals" {
    capture: String,
    interval: i64,
    label: String,
    key: Option<String>,
    role: String,
    weight: f64,
    begin_ns: Option<i64>,
    begin_tsc: i64,
    ticks: i64,
    duration_ns: i64,
    typical_ns: Option<i64>,
    thread: Option<String>,
    trace_id: Option<String>,
    span_id: Option<String>,
    headline: Option<String>,
    story: Option<String>,
}}

table_row! { AttributeRow of "attributes" {
    capture: String,
    interval: i64,
    name: String,
    number: Option<f64>,
    text: Option<String>,
}}

table_row! { CauseRow of "causes" {
    capture: String,
    interval: i64,
    cause: String,
    rank: i64,
    duration_ns: i64,
    typical_ns: i64,
    excess_ns: i64,
    count: i64,
    certainty: String,
    what: String,
    who: Option<String>,
    object: Option<String>,
    function: Option<String>,
    file: Option<String>,
    build_id: Option<String>,
    offset: Option<i64>,
    story: String,
    chain: String,
}}

table_row! { SegmentRow of "segments" {
    capture: String,
    interval: i64,
    segment: i64,
    offset_ns: i64,
    ticks: i64,
    duration_ns: i64,
    cpu: Option<i64>,
    cause: String,
    certainty: String,
    function: Option<String>,
    object: Option<String>,
    who: Option<String>,
}}

table_row! { DiagnosticRow of "diagnostics" {
    capture: String,
    severity: String,
    what: String,
    place: Option<String>,
}}

/// A count or length as tables have it; above 2^63 (centuries of nanoseconds) it stays there.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// `text`, or null where it is empty.
pub(crate) fn filled(text: impl Into<String>) -> Option<String> {
    Some(text.into()).filter(|text| !text.is_empty())
}

impl Cell {
    /// Whether a column may hold it.
    pub(crate) fn fits(&self, column: &Column) -> bool {
        match self {
            Cell::Null => column.nullable,
            Cell::Text(_) => column.kind == Kind::String,
            Cell::Int(_) => column.kind == Kind::Int64,
            Cell::Float(_) => column.kind == Kind::Double,
        }
    }
}

/// Whether the type's fields are the columns of `table`, by name, type and order.
pub(crate) fn is_of<T: TableRow>(table: &Table) -> bool {
    let fields = |column: &'_ Column| (column.kind, column.nullable);
    T::FIELDS.len() == table.columns.len()
        && T::FIELDS.iter().zip(&table.columns).all(|(&(name, kind, nullable), column)| {
            name == column.name && (kind, nullable) == fields(column)
        })
}

/// Refuses a row that is none of `table`.
///
/// # Errors
/// [`Error::Row`] with the column.
pub(crate) fn check(row: &Row, table: &Table) -> Result<()> {
    let wrong = |column: &str| Error::Row { table: table.name.clone(), column: column.to_owned() };
    if row.len() != table.columns.len() {
        return Err(wrong("(their number)"));
    }
    let misfit = row.iter().zip(&table.columns).find(|(cell, column)| !cell.fits(column));
    misfit.map_or(Ok(()), |(_, column)| Err(wrong(&column.name)))
}

/// The row as a JSON object.
pub(crate) fn to_json(row: &Row, table: &Table) -> Json {
    let value = |cell: &Cell| match cell {
        Cell::Null => Json::Null,
        Cell::Text(text) => Json::String(text.clone()),
        Cell::Int(number) => Json::from(*number),
        Cell::Float(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
    };
    let fields = table.columns.iter().zip(row).map(|(column, cell)| (column.name.clone(), value(cell)));
    Json::Object(fields.collect::<Map<_, _>>())
}

/// The row that a JSON object is.
///
/// # Errors
/// [`Error::Row`] where a column lacks a value that it needs, or has one of another type.
pub(crate) fn from_json(fields: &Map<String, Json>, table: &Table) -> Result<Row> {
    let cell = |column: &Column| {
        let cell = match (fields.get(&column.name), column.kind) {
            (Some(Json::String(text)), Kind::String) => Some(Cell::Text(text.clone())),
            (Some(Json::Number(number)), Kind::Int64) => number.as_i64().map(Cell::Int),
            (Some(Json::Number(number)), Kind::Double) => number.as_f64().map(Cell::Float),
            (None | Some(Json::Null), _) if column.nullable => Some(Cell::Null),
            _ => None,
        };
        cell.ok_or_else(|| Error::Row { table: table.name.clone(), column: column.name.clone() })
    };
    table.columns.iter().map(cell).collect()
}

#[cfg(test)]
mod tests;
