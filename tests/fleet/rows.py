"""Prints all rows of the tables in a folder as JSON lines, as DuckDB reads them: `{"table": …, "row": …}`."""

import json
import sys
from pathlib import Path

import duckdb

for table in sorted(Path(sys.argv[1]).glob("table=*")):
    name = table.name.removeprefix("table=")
    files = f"{table}/**/*.parquet"
    if not any(table.glob("**/*.parquet")):
        continue
    rows = duckdb.sql(f"SELECT * FROM read_parquet('{files}', hive_partitioning = true, hive_types_autocast = false)")
    for row in rows.fetchall():
        print(json.dumps({"table": name, "row": dict(zip(rows.columns, row, strict=True))}, sort_keys=True))
