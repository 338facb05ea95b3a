"""The binary and Spark make the same tables of the same bundles; the demo runs with both. Needs a built tailtrace: `TAILTRACE`."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import ROOT
from pyarrow import parquet
from tailtrace_fleet import spark
from tailtrace_fleet.bundle import Limits
from tailtrace_fleet.schema import TABLES
from tailtrace_fleet.tables import open_tables

sys.path.insert(0, str(ROOT / "scripts"))
from process_tree import Watch

TAILTRACE = Path(os.environ["TAILTRACE"])
# Where a file lay is written in another way by Spark, and names of files stand in these.
PLACES = {"uri", "error", "place"}


def rows(connection, table):
    """All rows but for what names files."""
    columns = ", ".join(f'"{column.name}"' for column in TABLES[table] if column.name not in PLACES)
    return connection.execute(f"SELECT {columns} FROM {table} ORDER BY ALL").fetchall()


def assert_same(one, other):
    """Both folders hold the same rows."""
    left, right = open_tables(one), open_tables(other)
    for table in TABLES:
        assert rows(left, table) == rows(right, table), table
    return left


def demo(folder, *options):
    """Runs the demo; what it prints."""
    environment = os.environ | {"DEMO": str(folder), "TAILTRACE": str(TAILTRACE)}
    return subprocess.run(
        [ROOT / "scripts/demo-fleet", *options], env=environment, check=True, capture_output=True, text=True
    ).stdout


def commands():
    """The two commands of the page."""
    page = (ROOT / "docs/fleet.md").read_text()
    return [line.split("#")[0].split() for line in page.split("```sh\n")[1].split("```")[0].splitlines()]


def test_the_first_command_of_the_page_makes_a_report(tmp_path):
    assert commands()[0] == ["scripts/demo-fleet"]
    assert "waited for mutex lock in run_interval() lock.c:107" in demo(tmp_path)
    page = (tmp_path / "fleet.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    # Each story's best example with what tailtrace says of it.
    assert page.count("<h3>Best example</h3>") == page.count("<summary>Its report</summary>") > 3
    found = open_tables(tmp_path / "tables")
    assert found.execute("SELECT count(*) FROM captures WHERE status = 'ok'").fetchone() == (4,)
    assert_written_as_described(tmp_path / "tables")


def assert_written_as_described(tables):
    """Each column by its type; ZSTD everywhere, and dictionaries of strings, as another reader of Parquet sees them."""
    for file in tables.rglob("*.parquet"):
        (name,) = [part.removeprefix("table=") for part in file.parts if part.startswith("table=")]
        types = {column.name: column.type for column in TABLES[name]}
        for group in range((read := parquet.ParquetFile(file).metadata).num_row_groups):
            for column in map(read.row_group(group).column, range(read.num_columns)):
                physical = {"string": "BYTE_ARRAY", "int64": "INT64", "double": "DOUBLE"}[types[column.path_in_schema]]
                assert (column.compression, column.physical_type) == ("ZSTD", physical)
                assert column.has_dictionary_page or physical != "BYTE_ARRAY"


@pytest.mark.large
def test_the_second_command_of_the_page_makes_the_same_on_spark(tmp_path):
    assert commands()[1:] == [["scripts/demo-fleet", "--spark"]]
    printed = demo(tmp_path / "ingest")
    assert demo(tmp_path / "spark", "--spark").replace("spark", "ingest").replace("file:/", "/") == printed
    assert_same(tmp_path / "ingest/tables", tmp_path / "spark/tables")
    # The binary goes on with tables that Spark made: it finds all captures there, and takes no file for a killed run's.
    for command in (["ingest", tmp_path / "ingest/bundles", "-o"], ["compact"]):
        subprocess.run([TAILTRACE, "-q", "fleet", *command, tmp_path / "spark/tables"], check=True)
        assert_same(tmp_path / "ingest/tables", tmp_path / "spark/tables")


def bundles(folder, count):
    """Small bundles, each of another recording: a scenario with another length of its slow interval."""
    scenario = (ROOT / "fixtures/scenarios/extra_work.scenario").read_text().split("\ntruth")[0]

    def make(number):
        place = folder / f"{number}"
        place.mkdir()
        (place / "scenario").write_text(scenario.replace("T1999N", f"T{1999 + number}N").replace("40us", f"{40000 + 7 * number}ns"))
        subprocess.run([TAILTRACE.parent / "tracegen", "scenario", "scenario", "-o", "made"], cwd=place, check=True, stdout=subprocess.DEVNULL)
        command = [TAILTRACE, "-q", "bundle", "-i", "perf.data", "--symfs", "symfs", "--intervals", "intervals.csv"]
        command += ["--top", "2", "-o", f"../../{number}.tar.zst"]
        subprocess.run(command, cwd=place / "made", check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["rm", "-r", place], check=True)

    folder.mkdir()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(make, range(count)))


def measured(what, command, count, most):
    """Runs it; what it took is said as a rate, and its processes together may hold `most` bytes."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process, Watch(process.pid) as watch:
        _, errors = process.communicate()
    took = time.monotonic() - begin
    assert process.returncode == 0, errors[-2000:]
    assert watch.memory < most, f"{what}: {watch.memory >> 20} MiB"
    return (
        f"{what}: {count} bundles in {took:.1f} s, {count / watch.cpu:.0f} for each second of CPU time, "
        f"{1000 * watch.cpu / count:.1f} ms for each; {watch.memory >> 20} MiB at most"
    )


def test_twenty_bundles_make_the_same_tables(session, tmp_path):
    bundles(tmp_path / "in", 20)
    subprocess.run([TAILTRACE, "-q", "fleet", "ingest", tmp_path / "in", "-o", tmp_path / "ingest"], check=True)
    spark.ingest(session, spark.Source([str(tmp_path / "in")]), str(tmp_path / "spark"), Limits(program=str(TAILTRACE)))
    found = assert_same(tmp_path / "ingest", tmp_path / "spark")
    assert found.execute("SELECT count(*), count(*) FILTER (status = 'ok') FROM captures").fetchone() == (20, 20)
    assert found.execute("SELECT count(DISTINCT capture) FROM causes").fetchone() == (20,)


@pytest.mark.large
def test_many_bundles_and_bad_ones_make_the_same_tables(tmp_path, capsys):
    count = int(os.environ.get("TAILTRACE_BUNDLES", "10000"))
    bundles(tmp_path / "in", count)
    whole = (tmp_path / "in/0.tar.zst").read_bytes()
    (tmp_path / "in/cut.tar.zst").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "in/other.tar.zst").write_text("not a bundle")
    (tmp_path / "in/again.tar.zst").write_bytes(whole)
    ingest = [TAILTRACE, "-q", "fleet", "ingest", tmp_path / "in", "-o", tmp_path / "ingest"]
    spark = [ROOT / "crates/fleet/python/check", "--run", "-m", "tailtrace_fleet", "spark", tmp_path / "in"]
    spark += ["-o", tmp_path / "spark", "--master", "local[2]", "--tailtrace", TAILTRACE]
    # However many bundles there are: one in each process, and of Spark the heap of one JVM, by default 1 GiB.
    took = [measured("fleet ingest", ingest, count, 1 << 30), measured("Spark local[2]", spark, count, 4 << 30)]
    with capsys.disabled():
        print("", *took, sep="\n")
    found = assert_same(tmp_path / "ingest", tmp_path / "spark")
    status = dict(found.execute("SELECT status, count(*) FROM captures GROUP BY status").fetchall())
    assert status["unreadable"] == 2
    assert sum(status.values()) == count + 2
