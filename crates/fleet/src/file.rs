//! One table's rows as a Parquet file, and back.
//!
//! The schema comes from `tables.json`: `BYTE_ARRAY` with the logical type String, `INT64`, `DOUBLE`; optional where a value may be null. All columns
//! have dictionaries and are packed by zstd. Columns are found by name: a nullable one that a
//! file lacks is null.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::Type;

use crate::error::{Error, Result};
use crate::row::{self, Cell, Row};
use crate::schema::{Column, Kind, Table, schema};

/// The key under which a file says which parts it stands in place of: their names, separated by blanks.
pub(crate) const REPLACES: &str = "tailtrace.replaces";
/// The key of the schema's version.
const VERSION: &str = "tailtrace.tables";
/// zstd's own default.
const LEVEL: i32 = 3;

/// A file of `rows` of `table`; `replaces` names the parts that it stands in place of.
///
/// # Errors
/// [`Error::Row`] where a row does not fit; else none that is not a bug.
pub(crate) fn write(table: &Table, rows: &[&Row], replaces: &[String]) -> Result<Vec<u8>> {
    rows.iter().try_for_each(|one| row::check(one, table))?;
    parquet_of(table, rows, replaces)
        .map_err(|source| Error::Parquet { path: format!("a file of {}", table.name).into(), source })
}

fn parquet_of(table: &Table, rows: &[&Row], replaces: &[String]) -> Result<Vec<u8>, ParquetError> {
    let mut notes = vec![KeyValue::new(VERSION.to_owned(), schema().version.to_string())];
    if !replaces.is_empty() {
        notes.push(KeyValue::new(REPLACES.to_owned(), replaces.join(" ")));
    }
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_dictionary_enabled(true)
        .set_created_by(concat!("tailtrace ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(notes));
    let mut bytes = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut bytes, Arc::new(type_of(table)?), Arc::new(properties.build()))?;
    if !rows.is_empty() {
        let mut group = writer.next_row_group()?;
        for (place, column) in table.columns.iter().enumerate() {
            let mut into = group
                .next_column()?
                .ok_or_else(|| ParquetError::General(format!("no writer of {}", column.name)))?;
            let cells = || rows.iter().map(|row| &row[place]);
            let levels: Vec<i16> = cells().map(|cell| i16::from(*cell != Cell::Null)).collect();
            let levels = column.nullable.then_some(&*levels);
            match column.kind {
                Kind::String => {
                    let values: Vec<ByteArray> = cells().filter_map(text).collect();
                    into.typed::<ByteArrayType>().write_batch(&values, levels, None)?;
                }
                Kind::Int64 => {
                    let values: Vec<i64> = cells().filter_map(number).collect();
                    into.typed::<Int64Type>().write_batch(&values, levels, None)?;
                }
                Kind::Double => {
                    let values: Vec<f64> = cells().filter_map(float).collect();
                    into.typed::<DoubleType>().write_batch(&values, levels, None)?;
                }
            }
            into.close()?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(bytes)
}

fn text(cell: &Cell) -> Option<ByteArray> {
    if let Cell::Text(text) = cell { Some(ByteArray::from(&**text)) } else { None }
}

fn number(cell: &Cell) -> Option<i64> {
    if let Cell::Int(number) = cell { Some(*number) } else { None }
}

fn float(cell: &Cell) -> Option<f64> {
    if let Cell::Float(number) = cell { Some(*number) } else { None }
}

/// The schema of a table's files.
fn type_of(table: &Table) -> Result<Type, ParquetError> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            Kind::String => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Int64 => (Physical::INT64, None),
            Kind::Double => (Physical::DOUBLE, None),
        };
        let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let built = Type::primitive_type_builder(&column.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition);
        built.build().map(Arc::new)
    };
    let fields = table.columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(&table.name).with_fields(fields).build()
}

/// What a file of a table holds.
pub(crate) struct Contents {
    /// Its rows, with the columns of this version.
    pub(crate) rows: Vec<Row>,
    /// The parts that it stands in place of.
    pub(crate) replaces: Vec<String>,
    /// Columns that this version does not know; their values are not among the rows.
    pub(crate) unknown: Vec<String>,
}

/// Reads the file of `table` at `path`; `wanted` columns only where some are named, and null elsewhere.
///
/// # Errors
/// Where it is no Parquet, or lacks a column that may not be null.
pub(crate) fn read(path: &Path, table: &Table, wanted: &[&str]) -> Result<Contents> {
    let file = File::open(path).map_err(Error::io(format!("{} cannot be read", path.display())))?;
    let damaged = |source| Error::Parquet { path: path.to_owned(), source };
    let reader = SerializedFileReader::new(file).map_err(damaged)?;
    let meta = reader.metadata().file_metadata();
    let fields = meta.schema_descr().root_schema().get_fields();
    let is_known = |name: &str| table.columns.iter().any(|column| column.name == name);
    let unknown = fields.iter().map(|field| field.name()).filter(|name| !is_known(name));
    let unknown = unknown.map(str::to_owned).collect();
    let is_wanted = |name: &str| is_known(name) && (wanted.is_empty() || wanted.contains(&name));
    let there = fields.iter().filter(|field| is_wanted(field.name())).cloned().collect();
    let projection = Type::group_type_builder(meta.schema_descr().root_schema().name()).with_fields(there);
    let note = |key: &str| meta.key_value_metadata()?.iter().find(|one| one.key == key)?.value.clone();
    let replaces = note(REPLACES).unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for record in reader.get_row_iter(Some(projection.build().map_err(damaged)?)).map_err(damaged)? {
        let record = record.map_err(damaged)?;
        let mut fields: HashMap<&str, &Field> =
            record.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect();
        let mut cell_in = |column: &Column| {
            let cell = fields.remove(&*column.name).map_or(Some(Cell::Null), cell_of)?;
            (cell.fits(column) || !wanted.is_empty() && cell == Cell::Null).then_some(cell)
        };
        let cells = table.columns.iter().map(|column| {
            cell_in(column)
                .ok_or_else(|| Error::Column { path: path.to_owned(), column: column.name.clone() })
        });
        rows.push(cells.collect::<Result<Row>>()?);
    }
    Ok(Contents { rows, replaces, unknown })
}

/// `None` of a value that no column of ours has.
fn cell_of(field: &Field) -> Option<Cell> {
    Some(match field {
        Field::Null => Cell::Null,
        Field::Str(text) => Cell::Text(text.clone()),
        Field::Long(number) => Cell::Int(*number),
        Field::Double(number) => Cell::Float(*number),
        _ => return None,
    })
}
