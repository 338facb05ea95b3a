"""The report on one slow interval of the tables: what it lies in is fetched, and explained.

Input: the row of a capture and of an interval. Output: what `tailtrace explain` prints on it. A path is read where it is; what lies
elsewhere, the user's command fetches, and only when someone wants to see it.
"""

import json
import os
import re
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tailtrace_fleet import queries
from tailtrace_fleet.bundle import Failed, ending, printed, run

# So many bytes of a capture are mapped, however large its file says that it is.
MOST_MAPPED = 1 << 40

# Slow intervals of a capture, and where it lies.
OF_CAPTURE = """
SELECT cp.capture, cp.uri, cp.whole, i."interval", i.begin_tsc FROM intervals AS i JOIN captures AS cp USING (capture)
WHERE cp.capture = ? AND i.role = 'outlier' AND (i."interval" = ? OR ? IS NULL)
ORDER BY i.duration_ns - coalesce(i.typical_ns, 0) DESC, i."interval" LIMIT 1
"""

# Bundles come from strangers, and so do their tags: a host or URI that begins with `-` would be an option of many commands.
FOR_COMMANDS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^-\s\x00-\x1f\x7f][^\s\x00-\x1f\x7f]*")


class NotFound(Exception):
    """No story and no capture has this name, or several have."""


def find(connection, name, interval=None):
    """The slow interval that `name` means: the best example of the story, or the slowest of the capture, whose hash begins so."""
    stories = {row["story"]: row for row in queries.run(connection, "examples")}
    captures = [row[0] for row in connection.execute("SELECT capture FROM captures ORDER BY 1").fetchall()]
    found = [each for each in [*stories, *captures] if name and each.startswith(name)]
    if len(found) != 1:
        several = f"{len(found)} stories and captures begin with it" if found else "no story with an example and no capture begins with it"
        raise NotFound(f"{name}: {several}")
    if found[0] in stories:
        return stories[found[0]]
    rows = queries.rows(connection.execute(OF_CAPTURE, [found[0], interval, interval]))
    if not rows:
        raise NotFound(f"{name}: the tables have no slow interval{'' if interval is None else f' {interval}'} of this capture")
    return rows[0]


def explained(row, limits, fetch=None, whole=False, options=()):
    """What `tailtrace explain` prints on the interval of `row`, with more `options`. Raises `Failed` where it cannot be had.

    With `whole` from the whole capture that the row names, of which the bundle is a part.
    """
    with tempfile.TemporaryDirectory(prefix="tailtrace-") as folder:
        bundle = Capture(fetched(row["uri"], fetch, Path(folder, "bundle"), limits), folder, limits)
        number = str(row["interval"])
        found = bundle.outlier(row, "--id", number)
        if not whole:
            return bundle.explain("--id", number, *options)
        if not row["whole"]:
            raise Failed("elsewhere", "the tables name no whole capture: the bundle has no tag `whole`")
        if "://" not in row["whole"] or row["whole"].startswith("file:"):
            # The tag is a stranger's, and names no file of this machine.
            raise Failed("elsewhere", f"{row['whole']} is a path of the host that recorded: tailtrace explain -i PATH reads it there")
        capture = Capture(fetched(row["whole"], fetch, Path(folder, "whole"), limits), folder, limits)
        # It may have another number there; perf's clock and the TSC are the same.
        begin = int(found["start_ns"])
        time = f"{seconds(begin)},{seconds(begin + found['duration_ns'])}"
        found = capture.outlier(row, "--time", time, "--over", "0ns", *options)
        return capture.explain("--id", str(found["id"]), *options)


class Capture:
    """A capture or bundle on this machine."""

    def __init__(self, file, folder, limits):
        self.file, self.folder, self.limits = file, folder, limits

    def outlier(self, row, *choice):
        """The one among the chosen intervals that begins when the row's does."""
        report = json.loads(self.explain(*choice, "--format", "json"))
        found = [one for one in report["outliers"] if int(one["start_tsc"]) == row["begin_tsc"]]
        if len(found) != 1:
            raise Failed("changed", f"{self.file}: no interval begins at {row['begin_tsc']} ticks: it is not what was ingested")
        return found[0]

    def explain(self, *arguments):
        """What `tailtrace explain` prints."""
        parts = [self.file, *(self.file.iterdir() if self.file.is_dir() else ())]
        size = min(MOST_MAPPED, sum(part.stat().st_size for part in parts if part.is_file()))
        return printed(["-q", "explain", "-i", str(self.file), *arguments], self.folder, self.limits, size).decode(errors="replace")


def fetched(uri, fetch, folder, limits):
    """A path to what lies at `uri`. Raises `Failed` where it cannot be had."""
    try:
        here = local(uri)
        if here is not None:
            return here.resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise Failed("elsewhere", f"{uri} cannot be read: {error}") from error
    if not FOR_COMMANDS.fullmatch(uri):
        raise Failed("elsewhere", f"{uri} is no URI that a command may get: SCHEME://HOST/PATH")
    if not fetch:
        raise Failed("elsewhere", f"{uri} lies elsewhere: --fetch COMMAND brings it here")
    folder.mkdir()
    file = folder / f"fetched{ending(uri)}"
    environment = os.environ | {"TAILTRACE_URI": uri, "TAILTRACE_FILE": str(file)}
    # Its output must not mix with the report.
    said = folder.with_suffix(".said")
    with said.open("wb") as output:
        code = run(["/bin/sh", "-c", fetch], folder, output, output, limits.seconds, environment)
    if code is None:
        raise Failed("elsewhere", f"{uri}: --fetch did not end within {limits.seconds} s")
    if code != 0 or not file.exists():
        last = said.read_bytes()[-500:].decode(errors="replace").strip()
        raise Failed("elsewhere", f"{uri}: --fetch ended with {code}, and wrote {'a' if file.exists() else 'no'} file: {last}")
    return file


def local(uri):
    """The path that a URI means; None where it is of another scheme. A path has none."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None if "://" in uri or uri.startswith("-") else Path(uri)


def seconds(ns):
    """As `--time` has it."""
    return f"{ns // 1_000_000_000}.{ns % 1_000_000_000:09}"
