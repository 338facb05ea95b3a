"""Opens the tables of a folder or an object store in DuckDB, as one view for each.

Every column of the schema is there, with its type: one that older files lack is null, one that newer files add is left out.
"""

import duckdb

from tailtrace_fleet.schema import DUCKDB_TYPES, TABLES


class NoTables(Exception):
    """There is no table `captures` where one was expected."""


def open_tables(root, keep=None):
    """A connection with a view for each table below `root`, a path or a URL that DuckDB can list.

    `keep` names a service; then the views show its rows only. Raises `NoTables` where no capture was ingested.
    """
    connection = duckdb.connect()
    for table in TABLES:
        connection.execute(view(connection, str(root), table, keep))
    return connection


def view(connection, root, table, keep):
    """The statement that makes the view of `table`."""
    pattern = f"{root.rstrip('/')}/table={table}/**/*.parquet"
    if not connection.execute("SELECT count(*) FROM glob(?)", [pattern]).fetchone()[0]:
        if table == "captures":
            raise NoTables(f"no tables in {root}: `tailtrace fleet ingest PATH -o DIR` makes them")
        nothing = ", ".join(f"CAST(NULL AS {DUCKDB_TYPES[c.type]}) AS {quoted(c.name)}" for c in TABLES[table])
        return f"CREATE TEMP VIEW {table} AS SELECT {nothing} WHERE false"
    rows = (
        f"read_parquet({text(pattern)}, hive_partitioning = true, hive_types_autocast = false, union_by_name = true)"
    )
    there = {row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {rows}").fetchall()}
    columns = ", ".join(
        f"CAST({quoted(column.name) if column.name in there else 'NULL'} AS {DUCKDB_TYPES[column.type]})"
        f" AS {quoted(column.name)}"
        for column in TABLES[table]
    )
    where = f" WHERE service = {text(keep)}" if keep is not None else ""
    return f"CREATE TEMP VIEW {table} AS SELECT {columns} FROM {rows}{where}"


def quoted(name):
    """An identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value):
    """A string literal of SQL."""
    return "'" + value.replace("'", "''") + "'"
