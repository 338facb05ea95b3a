"""One slow interval of each scenario, as tailtrace explains it: what the intervals of a simulated fleet are made of.

Input: names of scenarios, and the programs. Output: the interval's row with those of its causes and segments, by the columns of the fleet's tables.
"""

import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

SCENARIOS = Path(__file__).resolve().parent.parent / "fixtures/scenarios"
USUAL = "user.expected"


@dataclass(frozen=True)
class Template:
    """The slowest interval of a scenario."""

    interval: dict
    # By rank: what made it slow stands first.
    causes: list[dict]
    # By time.
    segments: list[dict]

    @property
    def story(self):
        """The hash of what made it slow."""
        return self.causes[0]["story"]

    def longest(self, cause):
        """The number of the longest segment of this cause."""
        return max((one for one in self.segments if one["cause"] == cause), key=lambda one: one["duration_ns"])["segment"]


def read(names, tailtrace):
    """The template of each scenario. `tailtrace` is the program's path; tracegen lies beside it."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(lambda name: template(name, Path(tailtrace)), names), strict=True))


def template(name, tailtrace):
    """Writes the scenario's capture, and explains it."""
    with tempfile.TemporaryDirectory(prefix="tailtrace-") as folder:
        scenario = [tailtrace.with_name("tracegen"), "scenario", SCENARIOS / f"{name}.scenario", "-o", "made"]
        subprocess.run(scenario, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        explained = [tailtrace, "-q", "fleet", "rows", "--symfs", "symfs", "perf.data"]
        printed = subprocess.run(explained, cwd=Path(folder, "made"), check=True, capture_output=True, text=True).stdout
    rows = {}
    for line in map(json.loads, printed.splitlines()):
        rows.setdefault(line["table"], []).append(line["row"])
    slow = max((row for row in rows["intervals"] if row["role"] == "outlier"), key=lambda row: row["duration_ns"])
    own = {table: [row for row in rows[table] if row["interval"] == slow["interval"]] for table in ("causes", "segments")}
    return Template(
        slow,
        sorted(own["causes"], key=lambda row: row["rank"]),
        sorted(own["segments"], key=lambda row: row["segment"]),
    )
