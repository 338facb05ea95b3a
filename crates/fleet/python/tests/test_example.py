"""The report on one slow interval: of a bundle that lies here or elsewhere, and of the whole capture that it was cut from."""

import json
import os
import subprocess

import pytest
from conftest import ROOT
from tailtrace_fleet.commands import main
from tailtrace_fleet.tables import open_tables
from test_engines import TAILTRACE

AT = "shop://web-7/"


def write_capture(scenario, place):
    """The capture of a scenario."""
    command = [TAILTRACE.parent / "tracegen", "scenario", ROOT / f"fixtures/scenarios/{scenario}.scenario", "-o", place]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory):
    """The folder of a whole capture, its bundle, and tables of the bundle."""
    folder = tmp_path_factory.mktemp("example")
    write_capture("extra_work", folder / "whole")
    command = [TAILTRACE, "-q", "bundle", "-i", "perf.data", "--symfs", "symfs", "--intervals", "intervals.csv", "--id", "8", "9"]
    subprocess.run([*command, "--tag", f"whole={AT}whole", "-o", "../bundle.tar.zst"], cwd=folder / "whole", check=True, stdout=subprocess.DEVNULL)
    subprocess.run([TAILTRACE, "-q", "fleet", "ingest", folder / "bundle.tar.zst", "-o", folder / "tables"], check=True)
    return folder


def story(folder):
    slowest = 'SELECT story FROM intervals WHERE "interval" = 8'
    return open_tables(folder / "tables").execute(slowest).fetchone()[0]


def explain(*arguments):
    main(["explain", "--tailtrace", str(TAILTRACE), *map(str, arguments)])


def fails(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        explain(*arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


def expected(bundle):
    command = [TAILTRACE, "-q", "explain", bundle, "--id", "8"]
    # pytest has a terminal's width here.
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def headline(text):
    """The line that names the explained interval, and its headline."""
    lines = text.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("── 1 of 1 ── "))
    return lines[place : place + 2]


def test_the_example_of_a_story_is_explained(ingested, capsys):
    explain(ingested / "tables", story(ingested))
    printed = capsys.readouterr()
    assert headline(printed.out) == headline(expected(ingested / "bundle.tar.zst"))
    assert f"{ingested}/bundle.tar.zst, interval " in printed.err
    # Of a capture its slowest; the first digits of a hash do, and options are those of tailtrace explain.
    capture = open_tables(ingested / "tables").execute("SELECT capture FROM captures").fetchone()[0]
    explain(ingested / "tables", capture[:12], "--", "-v")
    assert headline(capsys.readouterr().out) == headline(expected(ingested / "bundle.tar.zst"))


def test_what_is_not_in_the_tables_is_named(ingested, capsys):
    assert "no story with an example and no capture begins with it" in fails(capsys, ingested / "tables", "xyz")
    capture = open_tables(ingested / "tables").execute("SELECT capture FROM captures").fetchone()[0]
    assert "no slow interval 999999" in fails(capsys, ingested / "tables", capture, "--interval", "999999")


def test_the_whole_capture_is_fetched_only_then(ingested, capsys):
    log = ingested / "log"
    fetch = f'echo "$TAILTRACE_URI" >> {log}; cp -r {ingested}/"${{TAILTRACE_URI#{AT}}}"/. "$(dirname "$TAILTRACE_FILE")"'
    fetch += '; mv "$(dirname "$TAILTRACE_FILE")/perf.data" "$TAILTRACE_FILE"'
    explain(ingested / "tables", story(ingested), "--fetch", fetch)
    assert not log.exists()
    short = capsys.readouterr().out
    # Its binaries are where it was recorded.
    explain(ingested / "tables", story(ingested), "--whole", "--fetch", fetch, "--", "--symfs", ingested / "whole/symfs")
    assert log.read_text() == f"{AT}whole\n"
    # The same interval; among the typical ones is another outlier of the bundle.
    found = headline(capsys.readouterr().out)
    assert found[0] == headline(short)[0]
    assert "of extra work: work() ran 1999 times" in found[1]


def test_what_cannot_be_fetched_is_said(ingested, capsys):
    whole = (ingested / "tables", story(ingested), "--whole")
    assert "shop://web-7/whole lies elsewhere: --fetch COMMAND brings it here" in fails(capsys, *whole)
    assert "--fetch ended with 3, and wrote no file: gone" in fails(capsys, *whole, "--fetch", "echo gone >&2; exit 3")
    assert "--fetch did not end within 1 s" in fails(capsys, *whole, "--fetch", "exec sleep 30", "--seconds", "1")
    assert "tailtrace ended with exit code 2" in fails(capsys, *whole, "--fetch", 'echo x > "$TAILTRACE_FILE"')


def test_another_capture_in_its_place_is_no_example(ingested, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    write_capture("page_fault", other / "made")
    fetch = f'cp -r {other}/made/perf.data "$TAILTRACE_FILE" && cp {other}/made/intervals.csv "$(dirname "$TAILTRACE_FILE")"'
    said = fails(capsys, ingested / "tables", story(ingested), "--whole", "--fetch", fetch)
    assert "it is not what was ingested" in said or "no interval" in said


@pytest.mark.parametrize("uri", ["ssh://-oProxyCommand=x/y", "-x://y", "a b://y", "s3://a\tb", "/etc", "file:///etc"])
def test_a_foreign_uri_is_no_option(ingested, tmp_path, capsys, uri):
    rows = subprocess.run([TAILTRACE, "-q", "fleet", "rows", ingested / "bundle.tar.zst"], check=True, capture_output=True, text=True).stdout
    assert f'"whole":"{AT}whole"' in rows
    bundle = tmp_path / "again.tar.zst"
    command = [TAILTRACE, "-q", "bundle", ingested / "bundle.tar.zst", "--tag", f"whole={uri}", "-o", bundle]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([TAILTRACE, "-q", "fleet", "ingest", bundle, "-o", tmp_path / "tables"], check=True)
    said = fails(capsys, tmp_path / "tables", story(tmp_path), "--whole", "--fetch", f"touch {tmp_path}/ran")
    assert not (tmp_path / "ran").exists()
    assert "no URI that a command may get" in said or "is a path of the host that recorded" in said


def test_the_page_holds_the_report_or_the_command(ingested, tmp_path, capsys):
    page = tmp_path / "page.html"
    command = ["report", str(ingested / "tables"), "--html", str(page), "--format", "json", "--tailtrace", str(TAILTRACE)]
    main(command)
    (found,) = json.loads(capsys.readouterr().out)["stories"][:1]
    assert headline(found["example"]["report"]) == headline(expected(ingested / "bundle.tar.zst"))
    assert "<summary>Its report</summary><pre" in page.read_text()
    (ingested / "bundle.tar.zst").rename(ingested / "moved")
    try:
        main(command)
    finally:
        (ingested / "moved").rename(ingested / "bundle.tar.zst")
    (found,) = json.loads(capsys.readouterr().out)["stories"][:1]
    assert found["example"]["report"] is None and "cannot be read" in found["example"]["no_report"]
    assert f"tailtrace explain -i {ingested}/bundle.tar.zst --id " in page.read_text()
