"""Reads what is known of a capture: `truth.json` of an emulated program or of a scenario.

Output: a `Truth`: for each planted interval its causes with their times and how well the truth itself knows them; for
the others what the records say of them. Times in nanoseconds.
"""

import csv
import json
from dataclasses import dataclass, field

# TSC of scenarios that name no other clock (docs/scenario-language.md).
SCENARIO_MHZ = 2500


@dataclass
class Share:
    """A cause's time inside an interval; `uncertainty` is the truth's own."""
    cause: str
    ns: float
    uncertainty: float = 0


@dataclass
class Planted:
    """An interval that is slow on purpose; the dominant cause comes first."""
    ns: float
    shares: list
    by: str = ""


@dataclass
class Truth:
    """All that is known of a capture's intervals."""
    planted: dict = field(default_factory=dict)
    # What the records say of intervals in which nothing was planted.
    records: dict = field(default_factory=dict)

    def quiet(self, ids):
        """The intervals in which nothing was planted."""
        return [id for id in ids if id not in self.planted]


def read(folder):
    """The truth of the capture in `folder`."""
    truth = json.loads((folder / "truth.json").read_text())
    if "truth" in truth:
        return of_program(truth)
    return of_scenario(truth, ticks_per_ns(folder))


def of_program(truth):
    """Of an emulated program that planted causes and measured them itself."""
    planted = {entry["index"]: planted_interval(entry) for entry in truth["truth"]}
    records = {entry["index"]: entry for entry in truth["not_planted_but_slow_or_dirty"]}
    return Truth(planted, records)


def planted_interval(entry):
    ns, uncertainty = planted_time(entry)
    # A page fault is the thread's own; who else did it must be named.
    by = entry["by"]["thread"] if entry["cause"].startswith("offcpu.") else ""
    return Planted(entry["latency_ns"], [Share(entry["cause"], ns, uncertainty)], by)


def planted_time(entry):
    """The planted cause's time and how far that may be off: by records where they tell it, else as measured."""
    sideband = entry["sideband"]
    if "preempted_ns" in sideband:
        return sideband["preempted_ns"], 0
    measured = entry["cause_ns_inside_interval"]
    interrupted = sum(ns for _, ns in sideband.get("irq_ns", {}).values())
    # The program's clock runs around its loop: its own code before the first fault and between the faults is in it.
    # Stock perf's instruction times put up to 2 us before and, for lack of a time packet, 0.1 us between them there.
    # An interrupt's records lie inside it: entry, exit and what it ticks on the way out take as long again.
    own_code = 2000 + 125 * sideband.get("page_faults", 0)
    return measured - interrupted, own_code + interrupted


def of_scenario(truth, per_ns):
    """Of a scenario, which says how long each cause took; an interval that only has the expected is not planted."""
    planted = {}
    for interval in truth["intervals"]:
        shares = [Share(cause["cause"], cause["ticks"] / per_ns) for cause in interval["causes"]]
        unexpected = [share for share in shares if share.cause != "user.expected"]
        if unexpected:
            unexpected.sort(key=lambda share: -share.ns)
            expected = [share for share in shares if share.cause == "user.expected"]
            planted[interval["id"]] = Planted(interval["ticks"] / per_ns, unexpected + expected)
    return Truth(planted)


def ticks_per_ns(folder):
    """TSC ticks per nanosecond, as the scenario's machine has them."""
    return SCENARIO_MHZ / 1000
