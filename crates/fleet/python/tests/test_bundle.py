"""One bundle within its limits: whatever it holds, its end is a row."""

import time
from pathlib import Path

import pytest
from made import capture, lines
from tailtrace_fleet.bundle import Bundle, Limits, ending, rows_of
from tailtrace_fleet.schema import TABLES

STAND_IN = str(Path(__file__).parent / "stand_in")
LIMITS = Limits(seconds=1, output_bytes=1 << 20, memory_bytes=1 << 30, program=STAND_IN)


def rows(content, limits=LIMITS):
    return rows_of(Bundle("s3://bucket/x.tar.zst", len(content), content), limits)


def test_the_rows_of_a_bundle_have_its_uri_and_partition():
    found = rows(lines(capture("c", service="web", day="2026-11-09", stories=[("s", 1)])).encode())
    assert [table for table, _ in found] == ["captures", "populations", "intervals", "causes"]
    assert found[0][1]["uri"] == "s3://bucket/x.tar.zst"
    assert {(row["capture"], row["service"], row["day"]) for _, row in found} == {("c", "web", "2026-11-09")}


@pytest.mark.parametrize(
    ("content", "status", "error"),
    [
        ("endless", "timeout", "no end within 1 s"),
        ("asleep", "timeout", "no end within 1 s"),
        ("hungry", "too-large", "memory allocation of"),
        ("flood", "too-large", "its rows take more than 1048576 bytes"),
        ("broken", "unreadable", "exit code 2: not a bundle: no header"),
        ("crash", "unreadable", "signal 11"),
        ("nonsense", "unreadable", "a line that is no row"),
        ("silent", "unreadable", "0 rows of captures"),
    ],
)
def test_a_bundle_without_rows_is_a_row(content, status, error):
    begin = time.monotonic()
    ((table, row),) = rows(content.encode())
    assert (table, row["status"]) == ("captures", status)
    assert error in row["error"]
    assert len(row["capture"]) == 64
    required = {column.name for column in TABLES["captures"] if not column.nullable}
    assert required <= {name for name, value in row.items() if value is not None}
    assert time.monotonic() - begin < 5


def test_a_bundle_above_the_limit_was_not_fetched():
    ((_, row),) = rows_of(Bundle("s3://bucket/huge.tar.zst", 1 << 40, None), LIMITS)
    assert (row["status"], row["bytes"], row["day"]) == ("too-large", 1 << 40, "unknown")


def test_a_missing_program_is_an_error_of_the_job(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FileNotFoundError, match="pip install tailtrace"):
        rows(b"x", Limits())


def test_tags_are_handed_on(tmp_path):
    program = tmp_path / "program"
    row = lines(capture("c")).splitlines()[0].replace('"shop"', '"$(echo $4 $5)"')
    program.write_text(f"#!/bin/sh\ncat <<END\n{row}\nEND\n")
    program.chmod(0o755)
    ((_, found),) = rows(b"x", Limits(program=str(program), tags=("service=web",)))
    assert found["service"] == "--tag service=web"


def test_tags_count_for_a_bundle_without_rows_too():
    tags = ("service=web", "day=2026-11-05", "host=h", "zone=a=b")
    ((_, row),) = rows(b"broken", Limits(program=STAND_IN, tags=tags))
    assert [row[name] for name in ("service", "day", "host", "release")] == ["web", "2026-11-05", "h", None]
    assert row["tags"] == '{"day":"2026-11-05","host":"h","service":"web","zone":"a=b"}'
    ((_, row),) = rows(b"broken", Limits(program=STAND_IN, tags=("day=today",)))
    assert (row["day"], row["service"]) == ("unknown", "unknown")


def test_of_a_foreign_name_the_ending_stays():
    assert ending("s3://b/a;rm -rf.tar.zst") == ".tar.zst"
    assert ending("s3://b/perf.data") == ".data"
    assert ending("s3://b/perf") == ""
