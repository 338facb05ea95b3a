"""The views have the schema's columns whatever the files hold."""

import duckdb
import pytest
from made import capture, together, write
from tailtrace_fleet.schema import TABLES
from tailtrace_fleet.tables import NoTables, open_tables


def test_each_table_has_the_columns_of_the_schema_also_without_files(one_capture):
    for table, columns in TABLES.items():
        described = one_capture.execute(f"DESCRIBE {table}").fetchall()
        assert [row[0] for row in described] == [column.name for column in columns]
    assert one_capture.execute("SELECT count(*) FROM diagnostics").fetchone() == (0,)


def test_a_column_that_old_files_lack_is_null_and_one_that_new_files_add_is_left_out(tmp_path):
    write(tmp_path, **together([capture("old")]))
    folder = tmp_path / "table=captures/day=2026-11-03/service=shop"
    folder.mkdir(parents=True)
    duckdb.sql(f"COPY (SELECT 'new' AS capture, 's3://new' AS uri, 2.0 AS weight, 7 AS later) TO '{folder}/new.parquet'")
    connection = open_tables(tmp_path)
    rows = connection.execute("SELECT capture, day, weight, kernel FROM captures ORDER BY capture").fetchall()
    assert rows == [("new", "2026-11-03", 2.0, None), ("old", "2026-11-02", 1.0, None)]


def test_a_service_of_any_name_is_its_partition(opened):
    names = ["a/b", "a=b", "it's 50%", "日本", "2026-01-01", "007"]
    connection = opened(*(capture(str(number), service=name) for number, name in enumerate(names)))
    rows = connection.execute("SELECT service FROM captures ORDER BY capture").fetchall()
    assert [row[0] for row in rows] == names


def test_only_the_service_that_was_named_is_shown(tmp_path):
    tables = write(tmp_path, **together([capture("a", service="it's"), capture("b", service="other")]))
    assert open_tables(tables, "it's").execute("SELECT capture FROM captures").fetchall() == [("a",)]


def test_a_folder_without_captures_is_an_error(tmp_path):
    with pytest.raises(NoTables, match="tailtrace fleet ingest"):
        open_tables(tmp_path)
