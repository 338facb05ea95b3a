"""What fails while Spark makes the tables of real bundles, by the real program: the tables are those of `fleet ingest`, row for row."""

import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pyspark
import pytest
from conftest import ROOT
from process_tree import command, lineages
from test_engines import TAILTRACE, assert_same, bundles

CHECK = ROOT / "crates/fleet/python/check"


def slow(folder):
    """A program that is tailtrace, half a second later: so that there is a middle in which to kill."""
    program = folder / "slow/tailtrace"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nsleep 0.5\nexec {TAILTRACE} "$@"\n')
    program.chmod(0o755)
    return program


def spark_home(folder):
    """Spark as pyspark holds it, with a folder of the test for what its workers write."""
    home = folder / "spark_home"
    home.mkdir()
    for part in ("bin", "jars", "python"):
        (home / part).symlink_to(Path(pyspark.__file__).parent / part)
    return str(home)


@contextmanager
def job(folder, program, *options):
    """The Spark job over `folder/in`, as a process group of its own; all of it has ended afterwards."""
    arguments = [CHECK, "--run", "-m", "tailtrace_fleet", "spark", folder / "in", "-o", folder / "spark", "--tailtrace", program, *options]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def said(folder):
    """The end of what the job wrote, for a failing test."""
    return (folder / "log").read_text(errors="replace")[-3000:]


def until(condition, process, folder):
    """What `condition` gives once it gives something, while the job goes on."""
    for _ in range(1200):
        found = condition()
        if found:
            return found
        assert process.poll() is None, said(folder)
        time.sleep(0.1)
    raise AssertionError(said(folder))


def ingested(folder):
    """The tables of the same bundles by the binary: of copies, which were written in another year."""
    shutil.copytree(folder / "in", folder / "copy")
    for bundle in (folder / "copy").rglob("*.tar.zst"):
        os.utime(bundle, (1_600_000_000, 1_600_000_000))
    subprocess.run([TAILTRACE, "-q", "fleet", "ingest", folder / "copy", "-o", folder / "ingest"], check=True)
    return folder / "ingest"


def at_work(process):
    """Those who run tailtrace on a bundle just now, below `process`: each with its ancestors."""
    return [line for line in lineages(process.pid) if "tailtrace fleet rows" in command(line[0])]


def executor_at_work(process):
    """The process of an executor that works on a bundle just now."""
    executors = (pid for line in at_work(process) for pid in line if "CoarseGrainedExecutorBackend" in command(pid))
    return next(executors, None)


@pytest.mark.large
def test_an_executor_that_is_killed_loses_and_doubles_no_row(tmp_path, monkeypatch):
    bundles(tmp_path / "in", 40)
    monkeypatch.setenv("SPARK_HOME", spark_home(tmp_path))
    # A cluster on this machine: two executors, each a Java process of its own with its Python workers.
    with job(tmp_path, slow(tmp_path), "--master", "local-cluster[2,1,1024]") as process:
        executor = until(lambda: executor_at_work(process), process, tmp_path)
        # In the middle: some of its bundles are done, one it works on, others wait.
        time.sleep(2)
        os.kill(executor, signal.SIGKILL)
        assert process.wait(900) == 0, said(tmp_path)
    assert "Lost executor" in (tmp_path / "log").read_text(errors="replace"), said(tmp_path)
    found = assert_same(ingested(tmp_path), tmp_path / "spark")
    assert found.execute("SELECT count(*), count(DISTINCT capture) FROM captures WHERE status = 'ok'").fetchone() == (40, 40)
    assert not list((tmp_path / "spark/_spark").iterdir())


@pytest.mark.large
def test_a_job_that_is_killed_goes_on_from_its_checkpoint(tmp_path):
    options = ["--master", "local[2]", "--checkpoint", tmp_path / "checkpoint"]
    bundles(tmp_path / "in", 20)
    later = tmp_path / "in/later"
    later.mkdir()
    for number in range(10, 20):
        (tmp_path / f"in/{number}.tar.zst").rename(tmp_path / f"{number}.tar.zst")
    with job(tmp_path, TAILTRACE, *options) as process:
        assert process.wait(900) == 0, said(tmp_path)
    for number in range(10, 20):
        (tmp_path / f"{number}.tar.zst").rename(later / f"{number}.tar.zst")
    rows = len(list((tmp_path / "spark").rglob("*.parquet")))
    with job(tmp_path, slow(tmp_path), *options) as process:
        # Its batch is recorded in the checkpoint, and bundles of it are being explained.
        until(lambda: (tmp_path / "checkpoint/offsets/1").exists() and at_work(process), process, tmp_path)
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "checkpoint/commits/1").exists()
    assert len(list((tmp_path / "spark").glob("table=*/**/*.parquet"))) == rows, "nothing of the killed batch is in the tables"
    with job(tmp_path, TAILTRACE, *options) as process:
        assert process.wait(900) == 0, said(tmp_path)
    found = assert_same(ingested(tmp_path), tmp_path / "spark")
    assert found.execute("SELECT count(*) FROM captures").fetchone() == (20,)


def on_a_small_disk(folder, size, command):
    """Runs it twice with `folder/disk` as a disk of this size: first it gets full, then it has been made larger. Both exit codes."""
    script = f"""
        mount -t tmpfs -o size={size} tmpfs '{folder}/disk' || exit 77
        ( "$@" ) 2>'{folder}/full'; echo $?
        mount -o remount,size=256m '{folder}/disk'
        ( "$@" ) 2>'{folder}/log'; echo $?
        cp -r '{folder}/disk' '{folder}/kept'"""
    (folder / "disk").mkdir()
    # Root needs no other user namespace, and others need one.
    whole = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", *command]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"no small disk: {done.stderr}"
    first, second = done.stdout.split()
    return int(first), int(second)


@pytest.mark.large
@pytest.mark.parametrize(("engine", "size"), [("ingest", "16k"), ("spark", "96k")])
def test_a_full_disk_ends_the_job_and_the_next_run_has_all_rows(tmp_path, engine, size):
    bundles(tmp_path / "in", 40)
    out = tmp_path / "disk/tables"
    command = {
        "ingest": [TAILTRACE, "-q", "fleet", "ingest", tmp_path / "in", "-o", out],
        "spark": [CHECK, "--run", "-m", "tailtrace_fleet", "spark", tmp_path / "in", "-o", out, "--master", "local[2]", "--tailtrace", TAILTRACE],
    }[engine]
    first, second = on_a_small_disk(tmp_path, size, command)
    assert (first != 0, second) == (True, 0), said(tmp_path)
    assert "No space left on device" in (tmp_path / "full").read_text(errors="replace")
    found = assert_same(ingested(tmp_path), tmp_path / "kept/tables")
    assert found.execute("SELECT count(*), count(DISTINCT capture) FROM captures").fetchone() == (40, 40)


def packed(data):
    """One frame of zstd."""
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def bomb(gigabytes):
    """An archive with one file of zeros: 34 KB for each gigabyte, in frames that are one after another in the file."""
    entry = tarfile.TarInfo("bundle/slice")
    entry.size = gigabytes << 30
    return packed(entry.tobuf()) + packed(bytes(256 << 20)) * 4 * gigabytes


def endless(folder):
    """A sound bundle of some 100 KB whose one interval has 80 million instructions: seconds of CPU time, and most of it only here."""
    scenario = (ROOT / "fixtures/scenarios/extra_work.scenario").read_text().split("\ntruth")[0]
    long = "run to work for 1ns\n repeat 80\n run 1000000 branches T500000 for 100us\n done\n run to idle branches T9N for 1us"
    folder.mkdir()
    assert "run to idle branches T1999N for 40us" in scenario
    text = "machine\n  cycles off\n  tnt long\n\n" + scenario.replace("run to idle branches T1999N for 40us", long)
    (folder / "scenario").write_text(text)
    subprocess.run([TAILTRACE.parent / "tracegen", "scenario", "scenario", "-o", "made"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    command = [TAILTRACE, "-q", "bundle", "-i", "perf.data", "--symfs", "symfs", "--intervals", "intervals.csv"]
    command += ["--top", "1", "-o", "../../in/endless.tar.zst"]
    subprocess.run(command, cwd=folder / "made", check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder)


def damaged(folder, source, random):
    """The bundle with bytes of its slice changed, and without the checksums that would say so at once."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(["tar", "--zstd", "-xf", source, "-C", folder], check=True)
    (manifest,) = folder.rglob("manifest.json")
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"files": []}))
    data = max((path for path in manifest.parent.rglob("*") if path.is_file() and "slice" in str(path)), key=lambda path: path.stat().st_size)
    bytes_of = bytearray(data.read_bytes())
    for _ in range(random.choice([1, 4, 32])):
        bytes_of[random.randrange(len(bytes_of))] = random.randrange(256)
    data.write_bytes(bytes_of)
    return subprocess.run(["tar", "--zstd", "-cf", "-", manifest.parent.name], cwd=folder, capture_output=True, check=True).stdout


@pytest.mark.large
def test_truncated_hostile_and_endless_bundles_are_rows(tmp_path):
    random = Random(22)
    bundles(tmp_path / "in", 4)
    good = tmp_path / "in/0.tar.zst"
    whole = good.read_bytes()
    bad = {"bomb": bomb(20), "small_bomb": bomb(7)}
    bad |= {f"cut{part}": whole[: len(whole) * part // 8] for part in range(8)} | {"cut_by_one": whole[:-1]}
    bad |= {f"seed_{seed.name}": seed.read_bytes() for seed in (ROOT / "fuzz/seeds/bundle_open").iterdir()}
    for number in range(20):
        flipped = bytearray(whole)
        flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
        bad[f"flipped{number}"] = bytes(flipped)
        bad[f"damaged{number}"] = damaged(tmp_path / "damaged", good, random)
    for name, content in bad.items():
        (tmp_path / f"in/{name}.tar.zst").write_bytes(content)
    endless(tmp_path / "endless")
    # The same limits for both: time in seconds, memory in MiB.
    limits = ["--limit-time", "2", "--limit-memory", "2048"]
    subprocess.run([TAILTRACE, "-q", "fleet", "ingest", tmp_path / "in", "-o", tmp_path / "ingest", *limits], check=True)
    with job(tmp_path, TAILTRACE, "--master", "local[2]", "--seconds", "2", "--memory", "2048") as process:
        assert process.wait(900) == 0, said(tmp_path)
    found = assert_same(tmp_path / "ingest", tmp_path / "spark")
    rows = found.execute("SELECT uri, status FROM captures").fetchall()
    status = {Path(uri).name.split(".")[0]: status for uri, status in rows}
    assert {status[f"{number}"] for number in range(1, 4)} == {"ok"}
    assert status["endless"] == "timeout"
    assert {of for name, of in status.items() if name.startswith(("bomb", "small", "cut", "seed"))} == {"unreadable"}
    # A recording that is there twice is one row: a change that leaves the recording as it is makes none.
    assert len(rows) == len(status) >= len(bad) - 10
