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
    """The columns of each table's files, by its name."""
    document = json.loads((Path(__file__).parent / "tables.json").read_text())
    return {
        table["name"]: [Column(column["name"], column["type"], column["nullable"]) for column in table["columns"]]
        for table in document["tables"]
    }


def with_partitions(columns):
    """The columns of a file, and the partitions where it does not hold them, too."""
    held = {column.name for column in columns}
    return columns + [Column(name, "string", False) for name in PARTITIONS if name not in held]


# What files hold, and what their readers see.
FILES = load()
TABLES = {name: with_partitions(columns) for name, columns in FILES.items()}
