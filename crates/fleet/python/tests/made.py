"""Writes small tables by hand: only the columns that a test is about are named, the others get a plain value."""

import json

import duckdb
from tailtrace_fleet.schema import DUCKDB_TYPES, PARTITIONS, TABLES

PLAIN = {"string": "", "int64": 0, "double": 1.0}
USUAL = {"day": "2026-11-02", "service": "shop", "status": "ok", "role": "outlier", "certainty": "measured", "cause": "offcpu.lock"}


def write(folder, **tables):
    """Writes each table's rows, dictionaries by column, below `folder`."""
    for name, rows in tables.items():
        columns = TABLES[name]
        unknown = {key for row in rows for key in row} - {column.name for column in columns}
        assert not unknown, f"{name} has no {unknown}"
        connection = duckdb.connect()
        listed = ", ".join(f'"{column.name}" {DUCKDB_TYPES[column.type]}' for column in columns)
        connection.execute(f"CREATE TABLE t ({listed})")
        for row in rows:
            values = [row.get(column.name, usual(column)) for column in columns]
            connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(values))})", values)
        target = folder / f"table={name}"
        target.mkdir(parents=True, exist_ok=True)
        connection.execute(f"COPY t TO '{target}' (FORMAT parquet, PARTITION_BY ({', '.join(PARTITIONS)}))")
    return folder


def usual(column):
    """What a column holds that no test names."""
    if column.name in USUAL:
        return USUAL[column.name]
    return None if column.nullable else PLAIN[column.type]


def capture(name, **values):
    """One capture with a population of a hundred intervals, and an outlier for each story of `stories`: (story, excess)."""
    stories = values.pop("stories", [])
    count = values.pop("count", 100)
    outliers = values.pop("outliers", len(stories))
    place = {key: values[key] for key in PARTITIONS if key in values}
    tables = {
        "captures": [{"capture": name, "uri": f"s3://{name}", "host": "a", **values}],
        "populations": [{"capture": name, "count": count, "outliers": outliers, "explained": len(stories), **place}],
        "intervals": [],
        "causes": [],
    }
    for number, (story, excess) in enumerate(stories):
        of = {"capture": name, "interval": number, "story": story, **place}
        tables["intervals"].append(of | {"duration_ns": 1000 + excess, "typical_ns": 1000, "label": "request"})
        tables["causes"].append(of | {"rank": 0, "excess_ns": excess, "what": f"what {story} did", "chain": story})
    return tables


def together(captures):
    """The tables of several captures."""
    tables = {}
    for one in captures:
        for name, rows in one.items():
            tables.setdefault(name, []).extend(rows)
    return tables


def lines(tables):
    """What `tailtrace fleet rows` prints for a capture: all columns of all rows."""
    return "".join(
        json.dumps({"table": name, "row": {c.name: row.get(c.name, usual(c)) for c in TABLES[name]}}) + "\n"
        for name, rows in tables.items()
        for row in rows
    )
