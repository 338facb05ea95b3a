"""The tables and their columns, as `tables.json` documents them; the file is the same that the Rust writer reads."""

import json
from dataclasses import dataclass
from pathlib import Path

# Partitions: folders `table=NAME/day=YYYY-MM-DD/service=NAME`.
PARTITIONS = ("day", "service")

DUCKDB_TYPES = {"string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE"}


@dataclass(frozen=True)
class Column:
    """One column: `type` is `string`, `int64` or `double`."""

    name: str
    type: str
    nullable: bool


def load():
    """The columns of each table by its name, and the partitions in those tables that do not list them."""
    document = json.loads((Path(__file__).parent / "tables.json").read_text())
    tables = {}
    for table in document["tables"]:
        columns = [Column(column["name"], column["type"], column["nullable"]) for column in table["columns"]]
        listed = {column.name for column in columns}
        columns += [Column(name, "string", False) for name in PARTITIONS if name not in listed]
        tables[table["name"]] = columns
    return tables


TABLES = load()
