"""The tables by Spark are those of the same rows, whatever fails on the way."""

import math
from pathlib import Path

import pytest
from conftest import simulated
from made import capture, lines, together, write
from tailtrace_fleet import commit, queries, spark
from tailtrace_fleet.bundle import Limits
from tailtrace_fleet.schema import TABLES
from tailtrace_fleet.tables import open_tables

LIMITS = Limits(seconds=2, bundle_bytes=50_000, program=str(Path(__file__).parent / "stand_in"))
# Two days and services; captures with and without outliers.
CAPTURES = {
    f"{number:02}": {
        "day": f"2026-11-{2 + number % 2:02}",
        "service": "web" if number % 3 else "a/b c",
        "weight": 1.0 + number % 4 / 4,
        "stories": [(f"story {place}", 100 * place + number) for place in range(number % 5)],
    }
    for number in range(16)
}
BAD = {"broken": "unreadable", "endless": "timeout", "crash": "unreadable", "huge": "too-large"}


def bundles(folder, names=tuple(CAPTURES), bad=()):
    """Bundles of these captures, and bad ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.tar.zst").write_text(lines(capture(name, **CAPTURES[name])))
    for name in bad:
        (folder / f"{name}.tar.zst").write_text(name * 20_000 if name == "huge" else f"{name}\n")
    return [str(folder)]


def rows(connection, table, but=("uri",)):
    """All rows of a table about `CAPTURES`, in order, without columns that say where a bundle lay.

    A bundle without rows is named by a hash, of its path where it is too large: that may begin with any digits.
    """
    columns = [f'"{column.name}"' for column in TABLES[table] if column.name not in but]
    return sorted(connection.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE length(capture) = 2").fetchall(), key=repr)


def assert_complete(root, tmp_path):
    """The tables hold each capture's rows, once."""
    expected = open_tables(write(tmp_path / "expected", **together(capture(n, **v) for n, v in CAPTURES.items())))
    found = open_tables(root)
    for table in TABLES:
        assert rows(found, table) == rows(expected, table), table
    assert not list((Path(root) / "_spark").iterdir())
    return found


def test_a_batch_over_twenty_bundles(session, tmp_path):
    spark.ingest(session, spark.Source(bundles(tmp_path / "in", bad=BAD)), str(tmp_path / "out"), LIMITS)
    found = assert_complete(tmp_path / "out", tmp_path)
    status = found.execute("SELECT uri, status, bytes FROM captures WHERE status <> 'ok'").fetchall()
    assert {Path(uri).name.split(".")[0]: state for uri, state, _ in status} == BAD
    assert {size for uri, _, size in status if "huge" in uri} == {80_000}
    # Once more, and one of them at another place: nothing is added.
    twice = spark.Source([*bundles(tmp_path / "in"), *bundles(tmp_path / "copy", ["03"])])
    spark.ingest(session, twice, str(tmp_path / "out"), LIMITS)
    assert_complete(tmp_path / "out", tmp_path / "again")


@pytest.mark.large
def test_a_stream_goes_on_where_it_ended(session, tmp_path):
    def run():
        source = spark.Source([str(tmp_path / "in")], files_at_once=7)
        spark.follow(session, source, str(tmp_path / "out"), str(tmp_path / "checkpoint"), LIMITS).awaitTermination()

    names = list(CAPTURES)
    bundles(tmp_path / "in", names[:9], bad=["broken"])
    run()
    # What came twice and what is new, with a worker that dies in the middle.
    bundles(tmp_path / "in/later", names[6:15])
    killer = tmp_path / "in/later/15.tar.zst"
    killer.write_text(f"killer\n{tmp_path / 'killed'}\n{lines(capture('15', **CAPTURES['15']))}")
    run()
    assert (tmp_path / "killed").exists()
    assert_complete(tmp_path / "out", tmp_path)


@pytest.mark.large
@pytest.mark.parametrize("moment", ["mark", "finish", "move"])
def test_a_crash_at_any_moment_loses_and_doubles_nothing(session, tmp_path, monkeypatch, moment):
    source = spark.Source(bundles(tmp_path / "in"))

    def crash(store, name, table="causes"):
        if table == "causes":
            raise RuntimeError("crash")
        return moving(store, name, table)

    moving = commit.Store.move
    with monkeypatch.context() as patched:
        patched.setattr(commit.Store, moment, crash)
        with pytest.raises(RuntimeError):
            spark.ingest(session, source, str(tmp_path / "out"), LIMITS)
    spark.ingest(session, source, str(tmp_path / "out"), LIMITS)
    assert_complete(tmp_path / "out", tmp_path)


def equal(one, other):
    """Equal but for the last digits, which depend on the order of additions."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def assert_equal_results(session, root, some=lambda name: True):
    """Each file of `sql` gives the same rows in the same order in DuckDB and in Spark."""
    connection = open_tables(root)
    spark.views(session, str(root))
    for table in TABLES:
        session.table(table).coalesce(1).cache().createOrReplaceTempView(table)
    sides = "SELECT capture, CASE WHEN day < '2026-11-07' THEN 'before' ELSE 'after' END AS side FROM captures"
    connection.execute(f"CREATE TEMP VIEW sides AS {sides}")
    session.sql(sides).createOrReplaceTempView("sides")
    for name in filter(some, queries.names()):
        expected = queries.run(connection, name)
        found = [row.asDict() for row in session.sql(queries.read(name)).collect()]
        assert len(expected) == len(found) > 0, name
        for left, right in zip(expected, found, strict=True):
            assert left.keys() == right.keys(), name
            assert all(equal(left[key], right[key]) for key in left), (name, left, right)


def test_each_query_gives_the_same_in_duckdb_and_in_spark(session, tmp_path):
    tables, _ = simulated(tmp_path, 2000, hosts=40)
    assert_equal_results(session, tables)


@pytest.mark.large
def test_each_query_gives_the_same_over_a_large_fleet(session, fleet):
    assert_equal_results(session, fleet[0])
