//! The rows of one capture in all tables.

use serde_json::{Value as Json, json};

use crate::error::{Error, Result};
use crate::row::{self, Cell, Row, TableRow};
use crate::schema::schema;

/// The rows of one capture: exactly one in `captures`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// By the table's place in the schema.
    tables: Vec<Vec<Row>>,
}

impl Default for Rows {
    fn default() -> Rows {
        Rows { tables: vec![Vec::new(); schema().tables.len()] }
    }
}

impl Rows {
    /// Adds a row of the table that its type is for; a test holds the types against the schema.
    pub(crate) fn push<T: TableRow>(&mut self, row: T) {
        let place = schema().place(T::TABLE).expect("a test holds row types against tables.json");
        debug_assert!(row::is_of::<T>(&schema().tables[place]));
        self.tables[place].push(row.into_cells());
    }

    /// Those of the table at this place in the schema.
    pub(crate) fn of(&self, place: usize) -> &[Row] {
        &self.tables[place]
    }

    /// The capture's ID.
    pub fn capture(&self) -> &str {
        self.text_of_capture("capture")
    }

    /// The capture's day, YYYY-MM-DD.
    pub fn day(&self) -> &str {
        self.text_of_capture("day")
    }

    /// The capture's service.
    pub fn service(&self) -> &str {
        self.text_of_capture("service")
    }

    /// What became of the capture: `ok`, `partial`, `unreadable`, `timeout` or `too-large`.
    pub fn status(&self) -> &str {
        self.text_of_capture("status")
    }

    /// Why it has no other rows; empty where it has.
    pub fn error(&self) -> &str {
        self.text_of_capture("error")
    }

    /// How many rows there are.
    pub(crate) fn count(&self) -> usize {
        self.tables.iter().map(Vec::len).sum()
    }

    /// Whether they are of one capture.
    pub(crate) fn is_whole(&self) -> bool {
        let capture = Cell::Text(self.capture().to_owned());
        self.tables[0].len() == 1 && self.tables.iter().flatten().all(|row| row.first() == Some(&capture))
    }

    fn text_of_capture(&self, name: &str) -> &str {
        let column = schema().tables[0].columns.iter().position(|column| column.name == name);
        match column.and_then(|column| self.tables[0].first()?.get(column)) {
            Some(Cell::Text(text)) => text,
            _ => "",
        }
    }

    /// A line `{"table":"causes","row":{…}}` for each row, `captures` first.
    pub fn to_json_lines(&self) -> String {
        let mut lines = String::new();
        for (table, rows) in schema().tables.iter().zip(&self.tables) {
            for one in rows {
                lines += &json!({ "table": table.name, "row": row::to_json(one, table) }).to_string();
                lines.push('\n');
            }
        }
        lines
    }

    /// Adds the row that a line of [`Rows::to_json_lines`] is.
    ///
    /// # Errors
    /// Where it is none of this version's schema.
    pub fn add_json_line(&mut self, line: &str) -> Result<()> {
        let value: Json = serde_json::from_str(line).map_err(Error::Line)?;
        let unknown = || Error::Table(value["table"].to_string());
        let place = value["table"].as_str().and_then(|name| schema().place(name)).ok_or_else(unknown)?;
        let fields = value["row"].as_object().ok_or_else(unknown)?;
        self.tables[place].push(row::from_json(fields, &schema().tables[place])?);
        Ok(())
    }
}
