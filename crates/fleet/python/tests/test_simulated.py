"""A simulated fleet whose answer is known: the report finds it."""

import json
import subprocess
import sys
import time

import duckdb
import pytest
from conftest import ROOT, simulated
from tailtrace_fleet import difference, queries, report, words
from tailtrace_fleet.tables import open_tables


@pytest.fixture(scope="module")
def found(fleet):
    return report.build(open_tables(fleet[0]))


def test_stories_come_in_the_order_of_their_cost(fleet, found):
    expected = fleet[1]["order"]
    assert [story["story"] for story in found["stories"] if story["story"] in expected] == expected
    # Without weights it would be another order: the captures of busy hosts stand for more.
    by_excess = sorted(found["stories"], key=lambda story: -story["excess_ns"])
    assert [story["story"] for story in by_excess if story["story"] in expected] != expected


def test_the_release_that_brought_a_story_is_named_first(fleet, found):
    first = found["new"][0]
    brought = fleet[1]["brought"]
    assert (first["story"], first["kind"], first["point"]) == (brought["story"], "release", brought["release"])
    assert len(found["new"]) == 1
    assert f"release {brought['release']}" in words.findings(found)[1]


def test_the_microcode_that_slows_is_named_first_with_its_story(fleet, found):
    microcode = fleet[1]["microcode"]
    first = found["machines"][0]
    assert (first["attribute"], first["value"]) == ("microcode", microcode["value"])
    story = next(story for story in found["stories"] if story["story"] == microcode["story"])
    assert story["goes_with"][0]["value"] == microcode["value"]
    assert words.name(story) in words.story_with(found, first)


def test_the_counter_and_the_text_of_a_story_go_with_it(fleet):
    rows = queries.run(open_tables(fleet[0]), "story_counters")
    clear = {(row["story"], row["name"], row["text"]): row["z"] for row in rows if abs(row["z"]) > 5}
    items, cold = fleet[1]["items"], fleet[1]["cold"]
    assert set(clear) == {(items, "items", None), (cold, "cache", "cold"), (cold, "cache", "warm")}
    assert clear[items, "items", None] > 0 > clear[cold, "cache", "warm"]
    (row,) = (row for row in rows if (row["story"], row["name"]) == (items, "items"))
    # Whole numbers below 50, and below 10.
    assert (row["own"], row["others"]) == (pytest.approx(24.5, rel=0.05), pytest.approx(4.5, rel=0.3))


def test_hosts_with_a_bad_disk_differ(fleet, found):
    first = found["hosts"][:3]
    assert {row["value"] for row in first} == set(fleet[1]["bad_disks"])
    assert all("waited for disk 259:1 in ask()" in words.story_with(found, row) for row in first)


def test_nothing_is_found_in_kernels_for_they_do_not_differ(found):
    assert [row for row in found["machines"] if row["attribute"] == "kernel"] == []


def test_a_difference_of_two_releases_shows_what_came(fleet):
    brought = fleet[1]["brought"]
    compared = difference.build(open_tables(fleet[0]), "2026.42", brought["release"])
    assert [row["story"] for row in compared["stories"] if row["verdict"] == "new"] == [brought["story"]]
    assert all(row["verdict"] == "same" for row in compared["stories"] if row["story"] != brought["story"])


def test_the_rows_of_an_outlier_add_up(fleet):
    connection = open_tables(fleet[0])
    unequal = """
        SELECT count(*) FROM (SELECT capture, "interval", sum(excess_ns) AS excess FROM causes GROUP BY ALL) AS c
        JOIN intervals AS i USING (capture, "interval")
        WHERE i.role = 'outlier' AND i.duration_ns - i.typical_ns <> c.excess
    """
    assert connection.execute(unequal).fetchone() == (0,)
    segments = """
        SELECT count(*) FROM (SELECT capture, "interval", sum(duration_ns) AS duration FROM segments GROUP BY ALL) AS s
        JOIN intervals AS i USING (capture, "interval")
        WHERE i.role = 'outlier' AND i.duration_ns <> s.duration
    """
    assert connection.execute(segments).fetchone() == (0,)


@pytest.mark.large
def test_a_report_over_a_million_outliers_takes_less_than_ten_scans(tmp_path, capsys):
    tables, answer = simulated(tmp_path, 1_000_000)
    assert answer["outliers"] > 1_000_000
    with capsys.disabled():
        print(f"\n{answer['outliers']} outliers: ", end="", flush=True)
        subprocess.run([sys.executable, ROOT / "scripts/bench_fleet.py", tables, "--most", "10"], check=True)


def test_the_command_writes_a_page_and_json(fleet, tmp_path):
    page = tmp_path / "page.html"
    begin = time.monotonic()
    command = [sys.executable, "-m", "tailtrace_fleet", "report", fleet[0], "--html", page, "--format", "json"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert time.monotonic() - begin < 60
    assert json.loads(output)["stories"][0]["story"] == fleet[1]["order"][0]
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == [page]


def test_the_same_seed_gives_the_same_rows(fleet, tmp_path):
    other, _ = simulated(tmp_path, 150_000)
    of = "SELECT count(*), bit_xor(hash(t)) FROM read_parquet('{}/table=causes/**/*.parquet', hive_partitioning = true) AS t"
    assert duckdb.sql(of.format(other)).fetchall() == duckdb.sql(of.format(fleet[0])).fetchall()
