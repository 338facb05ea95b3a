"""Judges the kernel's functions against the log: how often each was called, and how much of the kernel's work the recording took.

Where a jump led to a function, too, the truth does not count it; of what ran near a switch it says that it is in doubt.
"""

from collections import Counter

# How much the recording's part of all that is judged may differ.
TRACING = 0.02


class Kernel:
    """How many kernel functions of the injected intervals have the calls of the log, and the recording's part beside that by the log."""

    def __init__(self, known, reports):
        self.right = self.judged = 0
        self.told_ns = self.log_ns = self.near_ns = 0
        self.remarks = []
        for id, entry in known.items():
            if id in reports:
                self.judge_calls(id, entry, reports[id]["calls"])
                self.add_recording(entry, reports[id].get("recording"))

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

    def add_recording(self, entry, recording):
        self.told_ns += recording["duration_ns"] if recording else 0
        self.log_ns += sum(cause.get("recording_ns", 0) for cause in entry["causes"])
        self.near_ns += sum(cause.get("recording_near_ns", 0) for cause in entry["causes"])

    def good(self):
        return self.right == self.judged and self.log_ns * (1 - TRACING) <= self.told_ns <= (self.log_ns + self.near_ns) * (1 + TRACING)
