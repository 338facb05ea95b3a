"""The package as it is installed."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT
from made import capture, together, write
from tailtrace_fleet import difference, queries
from tailtrace_fleet.commands import main


def test_without_tables_the_command_says_what_makes_them(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["report", str(tmp_path)])
    assert ended.value.code == 2
    assert "tailtrace fleet ingest" in capsys.readouterr().err


def test_a_side_without_captures_is_named(tmp_path, capsys):
    write(tmp_path, **together([capture("a", release="r1")]))
    with pytest.raises(SystemExit) as ended:
        main(["diff", str(tmp_path), "--before", "r1", "--after", "r2"])
    assert ended.value.code == 2
    assert "no capture is of r2" in capsys.readouterr().err


def test_a_difference_is_markdown_and_a_page(tmp_path, capsys):
    slow = [capture(f"b{n}", host=f"b{n}", release="r2", stories=[("s", 700)] * 5) for n in range(20)]
    fast = [capture(f"a{n}", host=f"a{n}", release="r1", stories=[("s", 700)]) for n in range(20)]
    write(tmp_path / "tables", **together(slow + fast))
    page = tmp_path / "page.html"
    main(["diff", str(tmp_path / "tables"), "--before", "r1", "--after", "r2", "--html", str(page), "--format", "markdown"])
    printed = capsys.readouterr().out
    assert printed.startswith("r2 against r1: more often slow: 50000 of a million intervals are slow, before 10000\n")
    assert "| more | what s did | 10000.0 | 50000.0 | 7 ns | 35 ns |" in printed
    assert "more often slow" in page.read_text()


def test_weeks_have_both_of_their_days(opened):
    days = {f"2026-11-{day:02}": day for day in (1, 2, 8, 9, 15, 16)}
    weeks = ("2026-11-02..2026-11-08", "2026-11-09..2026-11-15")
    captures = [capture(day, day=day, host=day, stories=[("s", 700)] * of_month) for day, of_month in days.items()]
    compared = difference.build(opened(*captures), *weeks)
    assert [(compared[side]["name"], compared[side]["captures"]) for side in ("before", "after")] == [(week, 2) for week in weeks]
    assert (compared["all"]["before_outliers"], compared["all"]["after_outliers"]) == (2 + 8, 9 + 15)


@pytest.mark.large
def test_the_wheel_holds_all_that_the_package_needs(tmp_path):
    package = ROOT / "crates/fleet/python"
    # From a copy: the build leaves folders beside what it builds.
    subprocess.run(["cp", "-rL", package, tmp_path / "copy"], check=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, tmp_path / "copy"]
    subprocess.run(pip, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    files = {path.relative_to(package).as_posix() for path in (package / "tailtrace_fleet").rglob("*.*") if path.suffix != ".pyc"}
    assert files <= held
    assert {f"tailtrace_fleet/sql/{name}.sql" for name in queries.names()} <= held
    assert Path(package / "tailtrace_fleet/tables.json").exists()
