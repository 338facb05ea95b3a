"""Judges how waits for an answer are divided against the log: each part of each wait, of all intervals that the truth knows.

A part is right within 2 us. Where the report has no such wait, or does not divide it, all its parts are wrong.
"""

NEAR_NS = 2_000


class Parts:
    """How many parts of waits are as the log has them."""

    def __init__(self, answers, hz, reports):
        self.right = self.judged = 0
        self.remarks = []
        for wait in answers:
            report = reports.get(wait["id"])
            if report is not None:
                self.judge(wait, report, hz)

    def judge(self, wait, report, hz):
        at = (wait["start_tsc"] - int(report["start_tsc"])) * 1e9 / hz
        found = divided(report, at)
        for part in sorted(wait["parts"].keys() | found.keys()):
            told, log = found.get(part, 0), wait["parts"].get(part, 0)
            self.judged += 1
            self.right += abs(told - log) <= NEAR_NS
            if abs(told - log) > NEAR_NS:
                self.remarks.append(f"{wait['id']}: the wait for {wait['by']}: {part} {told} ns, by the log {log} ns")

    def good(self):
        return self.right == self.judged


def divided(report, at):
    """{part: ns} of the wait that begins `at` ns after its interval."""
    near = [segment for segment in report["segments"] if segment["during"] and abs(segment["offset_ns"] - at) <= NEAR_NS]
    wait = min(near, key=lambda segment: abs(segment["offset_ns"] - at), default=None)
    parts = {}
    for piece in wait["during"] if wait else ():
        part = piece["part"] or "not known"
        parts[part] = parts.get(part, 0) + piece["duration_ns"]
    return parts
