"""Runs `tailtrace fleet rows` on one bundle, within limits of time, memory and output.

Input: a bundle and its bytes. Output: its rows by table. A bundle that cannot be read or that exceeds a limit is one row of `captures` with
its status and error, never an exception: what one file holds must not end the work on the others. Standard library only, for this
runs on each executor.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

# Sets the limits and becomes the program: a function run between fork and exec would be unsafe in a worker with threads.
# Memory in KiB, CPU seconds, and the size of the output in blocks of 512 bytes. Of CPU time the soft limit alone: at the hard one the
# kernel sends SIGKILL, which does not say why.
LIMITED = 'ulimit -c 0 && ulimit -v "$1" && ulimit -S -t "$2" && ulimit -f "$3" && shift 3 && exec "$@"'
# Seconds that the program has to end by itself after its time is over.
GRACE = 2
# The day and service of what has none, and what a day looks like; as in the binary.
UNKNOWN = "unknown"
DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
# What Rust's allocator writes before it aborts.
OUT_OF_MEMORY = "memory allocation of"


@dataclass(frozen=True)
class Limits:
    """What one bundle may take. A bundle of the usual size takes a second and some hundred MB."""

    # Wall time and CPU time.
    seconds: int = 120
    memory_bytes: int = 2 << 30
    bundle_bytes: int = 64 << 20
    output_bytes: int = 256 << 20
    # The program; found beside Python, where the wheel puts it, or on the path, where None.
    program: str | None = None
    # `NAME=VALUE` for all bundles: the service, where they do not say it themselves.
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bundle:
    """One file as Spark shows it. `content` is None where it is larger than the limit, so that its bytes were not fetched."""

    uri: str
    length: int
    content: bytes | None


class Failed(Exception):
    """The bundle gave no rows: `status` and an error for its row."""

    def __init__(self, status, error):
        super().__init__(error)
        self.status = status


def rows_of(bundle, limits):
    """The rows of a bundle, as (table, row); the row of `captures` comes first, all have its day and service."""
    try:
        if bundle.content is None:
            raise Failed("too-large", f"the bundle has {bundle.length} bytes, more than the limit of {limits.bundle_bytes}")
        rows = parsed(output_of(bundle, limits))
    except Failed as failed:
        rows = [("captures", stand_in(bundle, failed, limits))]
    own = rows[0][1]
    own["uri"] = bundle.uri
    for _, row in rows:
        row["capture"], row["day"], row["service"] = own["capture"], own["day"], own["service"]
    return rows


def output_of(bundle, limits):
    """What the program writes on the bundle. Raises `Failed` where it does not end well."""
    with tempfile.TemporaryDirectory(prefix="tailtrace-") as folder:
        # The name decides how a bundle is opened; of a foreign one only the ending is kept.
        file = Path(folder, "bundle" + ending(bundle.uri))
        file.write_bytes(bundle.content)
        arguments = ["fleet", "rows", str(file)] + [part for tag in limits.tags for part in ("--tag", tag)]
        # Its own limits make the same row as in `fleet ingest`; those of `printed` are for a program that does not keep them.
        arguments += ["--limit-time", str(limits.seconds), "--limit-memory", str(limits.memory_bytes >> 20)]
        # Errors and diagnostics name the file.
        return printed(arguments, folder, limits).replace(str(file).encode(), json.dumps(bundle.uri)[1:-1].encode())


def printed(arguments, folder, limits, mapped_bytes=0):
    """What the program prints with these arguments, run in `folder`. Raises `Failed` where it does not end well.

    `mapped_bytes`: what it maps of a capture beside its own memory, which the limit of the kernel counts, too.
    """
    output, errors = Path(folder, "printed"), Path(folder, "errors")
    # Twice the memory: what the program maps of a bundle counts here, and not in its own limit.
    sizes = ((2 * limits.memory_bytes + mapped_bytes) // 1024, limits.seconds + GRACE, limits.output_bytes // 512)
    command = ["/bin/sh", "-c", LIMITED, "sh", *map(str, sizes), program(limits), *arguments]
    with output.open("wb") as out, errors.open("wb") as err:
        code = run(command, folder, out, err, limits.seconds + GRACE)
    if code != 0:
        raise ended(code, errors, limits)
    return output.read_bytes()


def ending(uri):
    """`.tar.zst` of a bundle's name, the last part of it elsewhere."""
    name = uri.rsplit("/", 1)[-1]
    last = ".tar.zst" if name.endswith(".tar.zst") else Path(name).suffix[:16]
    return "".join(c for c in last if c.isalnum() or c == ".")


def program(limits):
    """The path of tailtrace on this executor."""
    beside = Path(sys.executable).parent / "tailtrace"
    found = limits.program or (str(beside) if beside.exists() else shutil.which("tailtrace"))
    if not found:
        raise FileNotFoundError("tailtrace is neither beside Python nor on the path: pip install tailtrace")
    return found


def run(command, folder, out, err, seconds, environment=None):
    """Runs it in a process group of its own, which is killed when its time is over. The exit code, or -signal; None is time over.

    Without an `environment` it gets the path alone, and `folder` as its home.
    """
    if environment is None:
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": folder, "TMPDIR": folder}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder, env=environment, start_new_session=True
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # Also children that the program left, and the program if this thread is interrupted.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def ended(code, errors, limits):
    """The failure that an exit code stands for."""
    with errors.open("rb") as file:
        last = file.read(64 << 10).decode(errors="replace").strip()[-2000:]
    if code is None or code == -signal.SIGXCPU:
        return Failed("timeout", f"no end within {limits.seconds} s")
    if code == -signal.SIGXFSZ:
        return Failed("too-large", f"its rows take more than {limits.output_bytes} bytes")
    if OUT_OF_MEMORY in last:
        return Failed("too-large", f"more than {limits.memory_bytes} bytes of memory: {last}")
    ending_words = f"signal {-code}" if code < 0 else f"exit code {code}"
    return Failed("unreadable", f"tailtrace ended with {ending_words}: {last}" if last else f"tailtrace ended with {ending_words}")


def parsed(output):
    """Lines `{"table":…,"row":…}` as (table, row), with the one row of `captures` first."""
    try:
        lines = [json.loads(line) for line in output.splitlines()]
        rows = [(line["table"], line["row"]) for line in lines]
    except (ValueError, KeyError, TypeError) as error:
        raise Failed("unreadable", f"tailtrace wrote a line that is no row: {error}") from error
    own = [row for row in rows if row[0] == "captures"]
    if len(own) != 1:
        raise Failed("unreadable", f"tailtrace wrote {len(own)} rows of captures, not one")
    return own + [row for row in rows if row[0] != "captures"]


def stand_in(bundle, failed, limits):
    """The row of a bundle that gave no other: its capture is the hash of its bytes, or of its place where they were not fetched."""
    digest = hashlib.sha256(bundle.content if bundle.content is not None else f"{bundle.uri} {bundle.length}".encode())
    tags = dict(tag.split("=", 1) for tag in limits.tags if "=" in tag)
    return {
        "capture": digest.hexdigest(),
        "day": tags["day"] if DAY.fullmatch(tags.get("day", "")) else UNKNOWN,
        "service": tags.get("service") or UNKNOWN,
        "host": tags.get("host"),
        "release": tags.get("release"),
        "microcode": tags.get("microcode"),
        "whole": tags.get("whole"),
        "tags": json.dumps(tags, sort_keys=True, separators=(",", ":"), ensure_ascii=False) if tags else None,
        "bytes": bundle.length,
        "weight": 1.0,
        "status": failed.status,
        "error": str(failed),
        "tool_version": "",
        "options": "{}",
    }
