"""Reads what is known of a capture: `truth.json` of an emulated program or of a scenario.

Output: a `Truth`: for each injected interval its causes with their times and how well the truth itself knows them; for
the others their causes, or, of the first captures, what the records say of them. Times in nanoseconds.
"""

import json
import statistics
from collections import defaultdict
from dataclasses import dataclass, field

# Of scenarios, which name no other clock (docs/scenario-language.md).
TICKS_PER_NS = 2.5


@dataclass
class Share:
    """A cause's time inside an interval; `uncertainty` is the truth's own. `unusual`: of code without a plan, what no quiet interval runs."""
    cause: str
    ns: float
    uncertainty: float = 0
    unusual: float = 0


@dataclass
class Planted:
    """An interval that is slow on purpose; the dominant cause comes first."""
    ns: float
    shares: list
    by: str = ""


@dataclass
class Records:
    """What the records and the log say of an interval in which nothing was injected: causes that are real there."""
    causes: set
    text: str


@dataclass
class Truth:
    """All that is known of a capture's intervals."""
    planted: dict = field(default_factory=dict)
    # Of all intervals: {cause: ns}; empty where the truth knows the injected causes only.
    causes: dict = field(default_factory=dict)
    records: dict = field(default_factory=dict)
    # Code that few intervals without an injection run: [{id: ns}] of all that run it.
    rare: list = field(default_factory=list)
    # Of the intervals that are in none of them: the only causes there, and how long these typically are.
    usual: dict = field(default_factory=dict)
    # Mean of each cause over the quiet ones.
    typical: dict = field(default_factory=dict)
    # Of planted intervals whose dominant cause the program planted: (kind, by, all kinds), see score_stories.
    stories: dict = field(default_factory=dict)
    # Of planted intervals: [[function, caller, times]] of the program's own functions by the log.
    calls: dict = field(default_factory=dict)
    aliases: dict = field(default_factory=dict)
    # Of planted intervals: the truth's entry, where it counts the calls of the kernel's functions.
    kernel: dict = field(default_factory=dict)
    # The waits that a server ended, in parts, with the clock that their times are in (ticks a second).
    answers: list = field(default_factory=list)
    hz: int = 0
    # Names of the program's own threads.
    threads: set = field(default_factory=set)
    # Whether records show when the scheduler decided on a switch.
    tells_switches: bool = True

    def quiet(self, ids):
        """The intervals in which nothing was injected, as far as the truth speaks of them: of other labels' it says nothing."""
        return [id for id in ids if id not in self.planted and (id in self.causes or not self.causes)]

    def told_by(self, variant):
        """The truth as far as a variant of the capture can show it: causes that it cannot distinguish are one (docs/known-truth.md). What one of them
        has more, another may have less: an interval counts as injected if some group of them stands out in it."""
        self.planted = {id: told for id, known in self.planted.items() if (told := self.planted_told_by(variant, known))}
        self.tells_switches = variant != "thread"
        self.causes = {id: grouped_times(causes, variant) for id, causes in self.causes.items()}
        return self


    def planted_told_by(self, variant, known):
        """A group's excess is that of all its causes: another than the dominant cause's may be larger. None if no group has any."""
        shares = grouped(known.shares, variant)
        if len(shares) < len(known.shares):
            typical = grouped_times(self.typical, variant)
            excess = {share.cause: share.ns - typical.get(share.cause, 0) for share in shares if share.cause not in UNPLANTED}
            if not is_slow(max(excess.values(), default=0), known.ns):
                return None
            shares.sort(key=lambda share: -excess.get(share.cause, float("-inf")))
        by = known.by if shares[0].cause == group(known.shares[0].cause, variant) else ""
        if variant == "thread":  # its records of switches are those of the program's threads
            by = " ".join(name for name in by.split() if name in self.threads)
        return Planted(known.ns, shares, by)


# Time of user code without an injected cause: its excess is a comparison of the truth's own.
WITHOUT_PLAN = "user code without a plan"
UNPLANTED = ("user", "user.expected", WITHOUT_PLAN)
# Causes of user code that the log of the machine model shows, whether they were injected or not.
LOGGED = ("user.slower.frequency", "user.slower.front-end")

# Unknown where only user code is traced: the kernel's entries (except by records) and its stalls. Where single threads
# are: exits from idle, and most wake-ups. Without the woken CPU's packets: when it awoke.
UNTOLD = {
    "full": {},
    "user": {"kernel": "kernel", "hardware": "kernel", "offcpu": "offcpu", "power": "offcpu"},
    "thread": {"offcpu": "offcpu", "power": "offcpu"},
}


def group(cause, variant):
    """What counts of `cause`: it, or its group where the variant cannot distinguish it from others."""
    return UNTOLD[variant].get(cause.split(".")[0], cause)


def grouped(shares, variant):
    """The shares with those of a group added up, in the place of its first one."""
    sums = {}
    for share in shares:
        cause = group(share.cause, variant)
        known = sums.get(cause, Share(cause, 0))
        sums[cause] = Share(cause, known.ns + share.ns, known.uncertainty + share.uncertainty, known.unusual + share.unusual)
    return list(sums.values())


def grouped_times(causes, variant):
    return {share.cause: share.ns for share in grouped([Share(cause, ns) for cause, ns in causes.items()], variant)}


def read(folder):
    """The truth of the capture in `folder`."""
    truth = json.loads((folder / "truth.json").read_text())
    if "format" in truth:
        return of_log(truth)
    if "truth" in truth:
        return of_program(truth)
    return of_scenario(truth)


# Emulated captures, with all causes of an interval known from the log of instructions and the records.

def of_log(truth):
    """Of the format `tailtrace-truth/1` (docs/known-truth.md)."""
    if truth["format"] != "tailtrace-truth/1":
        raise ValueError(f"a truth of the format {truth['format']}, which this score does not know")
    if "quiet" not in truth:
        raise ValueError("a truth without the causes of quiet intervals, as an older scripts/emulate made it: make the capture anew")
    entries = truth["explained"]
    planted = {entry["id"]: planted_causes(entry) for entry in entries if entry["planted"] and stands_out(entry)}
    causes = {entry["id"]: {cause["cause"]: cause["ns"] for cause in entry["causes"]} for entry in entries}
    quiet = {int(id): quiet for id, quiet in truth["quiet"].items()}
    stories = planted_stories(truth["truth"], {entry["id"]: entry["dominant"] for entry in entries if entry["id"] in planted})
    calls = {entry["id"]: entry["calls"] for entry in entries if entry["id"] in planted and entry.get("calls")}
    kernel = {entry["id"]: entry for entry in entries if entry["id"] in planted and entry.get("kernel_calls")}
    rare = [{int(id): ns for id, ns in piece.items()} for piece in truth.get("rare", [])]
    return Truth(planted, causes | quiet, rare=rare, typical=truth["typical"], stories=stories, calls=calls, aliases=truth.get("aliases", {}),
                 kernel=kernel, answers=truth.get("answers", []), hz=truth["tsc_hz"], threads=set(truth["threads"].values()))


def planted_stories(rows, dominant):
    """{id: (kind, by, all kinds that were planted there)} of the longest planted cause that is the interval's dominant one."""
    longest, kinds = {}, defaultdict(set)
    for row in rows:
        id, ns, kind = row["index"], row["cause_ns_inside_interval"], row.get("story") or row["cause"]
        kinds[id].add(kind)
        if dominant.get(id) == row["cause"] and row["confirmed"] and ns >= longest.get(id, (0,))[0]:
            longest[id] = ns, kind, row["by"]["thread"]
    return {id: (kind, by, kinds[id]) for id, (_, kind, by) in longest.items()}


def stands_out(entry):
    """Whether anything but the user code's own jitter exceeds what is typical: what was injected may have missed."""
    planted = {cause["cause"] for cause in entry["causes"] if "role" in cause}
    by_comparison = entry["dominant"] in {"user.expected", "user.slower.other"} - planted
    return not by_comparison and is_slow(entry["dominant_excess_ns"], entry["ns"])


def is_slow(excess, duration):
    """Whether an excess is more than any interval may have."""
    return excess > max(0.05 * duration, 200)


def planted_causes(entry):
    """An interval with its causes, the dominant one first."""
    # How user code divides, except for an injected cause of its own, is the truth's own comparison, no fact of the log.
    def is_known(cause):
        return "role" in cause or cause["cause"] in LOGGED
    planted = any(cause["cause"].startswith("user.") and is_known(cause) for cause in entry["causes"])
    shares, user = [], Share(WITHOUT_PLAN if planted else "user", 0, unusual=entry.get("unusual_ns") or 0)
    for cause in entry["causes"]:
        share = Share(cause["cause"], cause["ns"], cause["uncertainty_ns"])
        if cause["cause"].startswith("user.") and not is_known(cause):
            user.ns, user.uncertainty = user.ns + share.ns, max(user.uncertainty, share.uncertainty)
        else:
            shares.append(share)
    shares.append(user)
    shares.sort(key=lambda share: share.cause != entry["dominant"])
    dominant = next((cause for cause in entry["causes"] if cause["cause"] == entry["dominant"]), None)
    names_who = entry["dominant"] in ("offcpu.preempted", "offcpu.lock") and dominant and dominant["by"]
    return Planted(entry["ns"], shares, dominant["by"][0] if names_who else "")


# The first emulated captures: only the injected cause is known, by the program's own clock and the records.

def of_program(truth):
    planted = {entry["index"]: planted_interval(entry) for entry in truth["truth"]}
    records = {entry["index"]: recorded(entry) for entry in truth["not_planted_but_slow_or_dirty"]}
    usual = {"user.slower.other": 0, "user.expected": truth["population_not_planted_ns"]["p50"]}
    return Truth(planted, records=records, usual=usual)


def recorded(entry):
    causes = set()
    if entry["sideband"].get("irq_ns"):
        causes |= {"kernel.timer", "kernel.softirq", "kernel.ipi", "kernel.irq"}
    if entry["note"].startswith("no kernel event: time passes in user code"):
        causes.add("user.slower")
    if entry["largest_gap_between_instructions_ns"] * 2 >= entry["latency_ns"]:
        causes.add("hardware.gap")
    return Records(causes, entry["note"] or json.dumps(entry["sideband"]))


def planted_interval(entry):
    ns, uncertainty = planted_time(entry)
    # A page fault is the thread's own; who else did it must be named.
    by = entry["by"]["thread"] if entry["cause"].startswith("offcpu.") else ""
    return Planted(entry["latency_ns"], [Share(entry["cause"], ns, uncertainty)], by)


def planted_time(entry):
    """The injected cause's time and how far that may be off: by records where they have it, else as measured."""
    sideband = entry["sideband"]
    if "preempted_ns" in sideband:
        return sideband["preempted_ns"], 0
    measured = entry["cause_ns_inside_interval"]
    interrupted = sum(ns for _, ns in sideband.get("irq_ns", {}).values())
    # The program's clock runs around its loop: its own code before the first fault and between the faults is in it.
    # Stock perf's instruction times put up to 2 us before and, for lack of a time packet, 0.1 us between them there.
    # An interrupt's records lie inside it: entry, exit and what it does on exit take as long again.
    own_code = 2000 + 125 * sideband.get("page_faults", 0)
    return measured - interrupted, own_code + interrupted


# Scenarios.

def of_scenario(truth):
    """Of a scenario, which says how long each cause took; injected is what exceeds the other intervals' median."""
    ns = {interval["id"]: {cause["cause"]: cause["ticks"] / TICKS_PER_NS for cause in interval["causes"]}
          for interval in truth["intervals"]}
    labels = {interval["id"]: interval["label"] for interval in truth["intervals"]}
    planted = {}
    for id, causes in ns.items():
        others = [ns[other] for other in ns if other != id and labels[other] == labels[id]]
        excess = {cause: took - typical(cause, others) for cause, took in causes.items() if cause != "user.expected"}
        dominant = max(excess, key=excess.get, default=None)
        length = sum(causes.values())
        if dominant and excess[dominant] > max(0.05 * length, 200):
            shares = [Share(cause, took) for cause, took in causes.items()]
            planted[id] = Planted(length, sorted(shares, key=lambda share: share.cause != dominant))
    return Truth(planted)


def typical(cause, others):
    """How long a cause usually takes. No interval is compared with intervals without trace: a loss is never usual."""
    if cause == "trace.loss":
        return 0
    return statistics.median(other.get(cause, 0) for other in others) if others else 0
