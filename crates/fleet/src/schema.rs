//! The tables and their columns: `tables.json`, the one place that names them. The page `docs/fleet-tables.md`, the Parquet schema and the Python
//! package are made of it.

use std::sync::LazyLock;

use serde::Deserialize;

/// The file.
pub const TABLES: &str = include_str!("../tables.json");

/// All tables.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Schema {
    /// Grows with a change that older readers do not understand; a column that may be null is no such change.
    pub version: u64,
    /// `captures` first.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Table {
    /// Its name, and its partition's.
    pub name: String,
    /// What a row is.
    pub doc: String,
    /// In the order in which files have them.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its values are.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Whether a row may have none.
    pub nullable: bool,
    /// What a value means, with its unit.
    pub doc: String,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// UTF-8.
    String,
    /// A signed integer of 64 bits.
    Int64,
    /// A float of 64 bits.
    Double,
}

static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| serde_json::from_str(TABLES).expect("a test reads tables.json"));

/// The tables that this version writes.
pub fn schema() -> &'static Schema {
    &SCHEMA
}

impl Schema {
    /// The place of the table of this name.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name == name)
    }

    /// `docs/fleet-tables.md`.
    pub fn page(&self) -> String {
        let sections = self.tables.iter().map(|table| {
            let rows: String = table.columns.iter().map(Column::line).collect();
            format!(
                "\n## {}\n\n{}\n\n| column | type | |\n| --- | --- | --- |\n{rows}",
                table.name, table.doc
            )
        });
        format!("{HEAD}\nThe schema's version is {}.\n{}", self.version, sections.collect::<String>())
    }
}

impl Column {
    /// Its line in the page.
    fn line(&self) -> String {
        let kind = match self.kind {
            Kind::String => "string",
            Kind::Int64 => "int64",
            Kind::Double => "double",
        };
        let null = if self.nullable { ", may be null" } else { "" };
        format!("| `{}` | {kind}{null} | {} |\n", self.name, self.doc)
    }
}

/// How the page begins.
const HEAD: &str = "# The tables of a fleet

<!-- Made of crates/fleet/tables.json by `TAILTRACE_BLESS=1 cargo test -p tailtrace-fleet`. -->

`tailtrace explain --parquet DIR` and `tailtrace fleet ingest PATH… -o DIR` write them as Parquet files, packed by zstd:

```text
DIR/table=causes/day=2026-11-26/service=checkout/part-4f0c….parquet
```

`day` and `service` are those of the capture. `table`, `day` and `service` are Hive partitions: DuckDB (`hive_partitioning = true`) and Spark take them
from the paths, for all tables. Files of one `part-` name belong together; the one in `captures` comes last, and what it does not name is not there yet.
Characters of a service that no path may hold are written as `%2F`, as Hive does.

Columns are added at the end and may be null: a reader of this version reads older files, whose rows have null there, and leaves out columns that it does not know.
";
