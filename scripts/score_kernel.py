"""Judges the kernel's functions against the log: how often each was called, and how much of the kernel's work the recording took.

Where a jump led to a function, too, the truth does not count it; of what ran near a switch it says that it is in doubt: whose time that
is depends on which of the switch's three records is taken for it. So causes with such time are judged apart, between both readings.
"""

from collections import Counter

# By how much the recording's part of the causes may differ.
TRACING = 0.02


class Kernel:
    """How many kernel functions of the injected intervals have the calls of the log, and the recording's part beside that by the log."""

    def __init__(self, known, reports):
        self.right = self.judged = 0
        self.told, self.log, self.near = Counter(), Counter(), Counter()  # ns by cause
        self.remarks = []
        for id, entry in known.items():
            if id in reports:
                self.judge_calls(id, entry, reports[id]["calls"])
                self.add_recording(entry, reports[id])

    def judge_calls(self, id, entry, nodes):
        told = Counter()
        for node in nodes:
            if node["layer"] == "kernel":
                told[node["function"]] += node["calls"]
        near = entry["kernel_calls_near"]
        for names, times in entry["kernel_calls"].items():
            found = sum(told[name] for name in names.split("/"))
            self.judged += 1
            right = abs(found - times) <= near.get(names, 0)
            self.right += right
            if not right:
                self.remarks.append(f"{id}: the kernel's {names}() called {found} times, by the log {times} times")

    def add_recording(self, entry, report):
        for cause in report["causes"]:
            self.told[cause["cause"]] += cause.get("recording_ns") or 0
        for cause in entry["causes"]:
            self.log[cause["cause"]] += cause.get("recording_ns", 0)
            self.near[cause["cause"]] += cause.get("recording_near_ns", 0)

    def recording(self, doubtful):
        """(reported, by the log, in doubt) in ns, over the causes in which some time is in doubt, or over the others."""
        causes = [cause for cause in self.told | self.log if bool(self.near[cause]) == doubtful]
        return tuple(sum(counter[cause] for cause in causes) for counter in (self.told, self.log, self.near))

    def difference(self):
        """By how much the recording's part differs from the log's, of the causes in which no time is in doubt; none without any."""
        told, log, _ = self.recording(False)
        return told / log - 1 if log else None

    def tracing_remarks(self):
        """What of the recording's part is not as the log has it."""
        told, log, near = self.recording(True)
        if not log * (1 - TRACING) <= told <= (log + near) * (1 + TRACING):
            yield f"tracing at switches {told} ns, by the log {log} to {log + near} ns"
        told, log, _ = self.recording(False)
        if abs(told - log) > TRACING * log:
            yield f"tracing elsewhere {told} ns, by the log {log} ns"

    def good(self):
        return self.right == self.judged and not any(self.tracing_remarks())
