"""Judges what tailtrace says of a capture against its truth, and prints the verdicts.

The bars: the dominant cause is named first in 99 % of the injected intervals; each cause of the truth above 5 % of its
interval is in the list; 99 % of their times are right within max(2 %, 200 ns, the truth's uncertainty); the calls of the program's
functions, and the parts of waits for answers, are those of the log, where the truth has them; in 99 % of the quiet
intervals no cause but `user.expected` exceeds max(5 % of the duration, 200 ns, 3 x its MAD over the baselines) by more than it
really took longer than in the baselines.
"""

import statistics
from collections import Counter
from itertools import pairwise

import score_stories
from score_truth import UNPLANTED, WITHOUT_PLAN

NAMED_FIRST, IN_TIME, QUIET = 0.99, 0.99, 0.99
SMALLEST_SHARE = 0.05
TIME_SHARE, TIME_NS = 0.02, 200
# A cause is real where another source confirms this share of its excess.
TOLD_SHARE = 0.8
EXPECTED, EXTRA_WORK = "user.expected", "user.extra-work"
# What lies on the two sides of a switch.
AT_SWITCHES = ("offcpu", "kernel.schedule")


class Score:
    """One capture's verdicts."""

    def __init__(self, name, truth, planted, quiet, told, calls, kernel, parts):
        self.name, self.planted, self.quiet = name, len(truth.planted), len(quiet)
        self.right = self.present = self.in_time = self.shares = self.invented = self.real = 0
        self.first_named, self.remarks = Counter(), []
        self.tells_switches, self.told, self.calls = truth.tells_switches, told, calls
        self.kernel, self.parts = kernel, parts
        for id, known in truth.planted.items():
            self.judge_planted(id, known, planted.get(id), truth.rare)
        reports = {**planted, **quiet}
        for id, outlier in quiet.items():
            self.judge_quiet(id, outlier, reports, truth)
        for remark in [*told.remarks, *calls.remarks, *kernel.remarks, *kernel.tracing_remarks(), *parts.remarks]:
            self.remarks.append(f"{name} {remark}")
        for kind, share in told.mistaken.items():
            self.remarks.append(f"{name}: the words of {kind} match {100 * share:.0f} % of the headlines of other kinds")

    def judge_planted(self, id, known, outlier, rare):
        dominant = known.shares[0].cause
        if outlier is None:
            self.first_named[dominant, "(no report)"] += 1
            self.shares += 1
            return self.remark(id, "no report")
        first = first_cause(outlier)
        # Several threads one after the other are all to be named.
        right = is_cause(first["cause"], dominant) and all(name in first["detail"] for name in known.by.split())
        right = right or any(is_cause(first["cause"], tie) for tie in ties(known.shares))
        self.right += right
        self.first_named[dominant, first["cause"]] += 1
        if not right:
            named = f"{first['cause']} ({first['detail']})"
            self.remark(id, f"{named} is named first, the truth is {dominant} {known.by}".rstrip())
        for share in known.shares:
            if share.ns >= SMALLEST_SHARE * known.ns:
                others = {other.cause for other in known.shares if other is not share}
                beside = 0 if EXTRA_WORK in others else extra_work(id, share, outlier, rare)
                self.judge_share(id, share, outlier, others, beside)

    def judge_share(self, id, share, outlier, others, beside):
        """`beside`: what the report calls another cause and counts all the same."""
        found = [cause for cause in outlier["causes"]
                 if is_cause(cause["cause"], share.cause) and cause["duration_ns"] and cause["cause"] not in others]
        ns = sum(cause["duration_ns"] for cause in found) + beside
        late = 0 if self.tells_switches else stated_lateness(share.cause, outlier["segments"])
        allowed = max(TIME_SHARE * share.ns, TIME_NS, share.uncertainty, late)
        self.shares += 1
        self.present += bool(found)
        self.in_time += abs(ns - share.ns) <= allowed
        if abs(ns - share.ns) > allowed:
            self.remark(id, f"{share.cause} {ns} ns, the truth is {share.ns:.0f} ns (+- {allowed:.0f})")

    def judge_quiet(self, id, outlier, reports, truth):
        """Counts an interval in which something is blamed though nothing was injected."""
        baselines = [reports[other] for other in outlier["baselines"] if other in reports]
        blamed, invented = False, False
        for cause in outlier["causes"]:
            allowed = allowed_excess(cause["cause"], outlier, baselines)
            if cause["cause"] == EXPECTED or cause["excess_ns"] <= allowed:
                continue
            real, known = is_real(cause, id, outlier, truth, allowed)
            blamed, invented = True, invented or not real
            self.remark(id, f"quiet, but {cause['cause']} +{cause['excess_ns']} ns ({cause['detail']}); {known}")
        self.invented += invented
        self.real += blamed and not invented

    def remark(self, id, what):
        self.remarks.append(f"{self.name} {id}: {what}")

    def good(self, together):
        """Whether every bar is met, but for that of headlines where these are counted `together` with other captures'."""
        named = self.right >= NAMED_FIRST * self.planted
        timed = self.present == self.shares and self.in_time >= IN_TIME * self.shares
        of_log = self.told.good(together) and self.calls.good() and self.kernel.good() and self.parts.good()
        return named and timed and self.quiet - self.invented >= QUIET * self.quiet and of_log


def grouped(causes, group):
    """The report's causes with those of a group added up, the largest excess first, as the report has them. The particulars are
    those of the one with the largest excess."""
    sums = {}
    for cause in causes:
        name = group(cause["cause"])
        known = sums.setdefault(name, {**cause, "cause": name, "excess_ns": 0, "duration_ns": 0})
        for key in ("excess_ns", "duration_ns"):
            known[key] += cause[key]
    return sorted(sums.values(), key=lambda cause: -cause["excess_ns"])


def stated_lateness(cause, segments):
    """How far off the edges of `cause` at switches may be in all, as the report says: in nanoseconds. SWITCH records come later
    than the scheduler decides, which is where the truth has the edge: there the scheduler runs on both sides of an absence."""
    def is_off(segment):
        return segment["cause"].startswith(("offcpu.", "power."))
    edges = [pair for pair in pairwise(segments) if is_off(pair[0]) != is_off(pair[1])]
    own = [pair for pair in edges if cause in AT_SWITCHES or any(is_cause(part["cause"], cause) for part in pair)]
    return sum(min(part["edge_uncertainty_ns"] for part in pair) for pair in own)


def is_cause(found, known):
    """Whether the cause `found` is the `known` one or a kind of it. That a call was made says more than nothing."""
    unnamed_call = (known, found) == ("kernel.unknown", "kernel.syscall.unknown")
    unplanted = known == WITHOUT_PLAN and found.startswith((EXPECTED, "user.slower."))
    return found == known or found.startswith(known + ".") or unnamed_call or unplanted


def extra_work(id, share, outlier, rare):
    """What the report calls extra work of code without a plan, which the truth does not divide: as far as the log shows code there that no
    quiet interval runs, or few and none of the baselines."""
    if share.cause != WITHOUT_PLAN:
        return 0
    stated = sum(cause["duration_ns"] for cause in outlier["causes"] if cause["cause"] == EXTRA_WORK)
    return min(stated, share.unusual + in_rare_code(EXTRA_WORK, id, outlier["baselines"], rare))


def true_excess(found, id, baselines, causes):
    """How much longer the cause that is named `found` really took than in the baselines. How user code divides is a comparison,
    which the truth makes for injected intervals only: it counts as a whole."""
    def ns(id):
        return sum(took for known, took in causes[id].items()
                   if is_cause(found, known) or found.startswith("user.") and known.startswith("user."))
    usual = statistics.mean(ns(other) for other in baselines) if baselines else 0
    return ns(id) - usual


def in_rare_code(found, id, baselines, pieces):
    """How long the interval was in code that few intervals run and none of the baselines does: that is extra work, however long all its user
    code took."""
    if found != EXTRA_WORK:
        return 0
    return sum(piece[id] for piece in pieces if id in piece and not piece.keys() & set(baselines))


def is_real(cause, id, outlier, truth, allowed):
    """Whether what a quiet interval is blamed on happened, and what is known of that."""
    if truth.causes:
        found, baselines = cause["cause"], outlier["baselines"]
        real = max(true_excess(found, id, baselines, truth.causes), in_rare_code(found, id, baselines, truth.rare))
        return cause["excess_ns"] - real <= allowed, f"really {real:+.0f} ns"
    records = truth.records.get(id)
    return is_recorded(cause, outlier, truth, records), f"the records: {records.text}" if records else "no record"


def is_recorded(cause, outlier, truth, records):
    """Whether what a quiet interval is blamed on is real: by its records; or, where these say that only the usual
    happened, because a usual cause must have taken it: the interval is that much longer than its baselines, by the
    program's marks, or, of calls that it makes, what they took is missing nowhere else."""
    if records is not None:
        return any(is_cause(cause["cause"], known) for known in records.causes)
    if cause["cause"] not in truth.usual:
        return False
    surplus = outlier["duration_ns"] - outlier["baseline_mean_ns"]
    user = sum(other["duration_ns"] for other in outlier["causes"] if is_cause(other["cause"], "user"))
    is_call = cause["cause"].startswith("kernel.")
    return surplus >= TOLD_SHARE * cause["excess_ns"] or (is_call and user >= 0.85 * truth.usual[EXPECTED])


def ties(shares):
    """Causes that the truth cannot distinguish from the dominant one: they are as long within its own uncertainty."""
    dominant, *others = shares
    least = dominant.ns - dominant.uncertainty
    return [share.cause for share in others if share.cause not in UNPLANTED and share.ns + share.uncertainty >= least > 0]


def first_cause(outlier):
    """The headline: the cause with the largest excess."""
    return outlier["causes"][0]


def allowed_excess(name, outlier, baselines):
    """How much more than typical a cause may take without meaning anything."""
    took = [sum(cause["duration_ns"] for cause in other["causes"] if cause["cause"] == name) for other in baselines]
    return max(SMALLEST_SHARE * outlier["duration_ns"], TIME_NS, 3 * mad(took))


def mad(values):
    """The median absolute deviation."""
    if not values:
        return 0
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values)


# Printing.

def all_good(scores, together):
    """Whether every bar is met."""
    named = score_stories.all_told([score.told for score in scores])
    return bool(scores) and named and all(score.good(together) for score in scores)


def print_all(scores, together, out):
    print_table(scores, together, out)
    print_confusion(sum((score.first_named for score in scores), Counter()), out)
    for score in scores:
        for remark in score.remarks:
            print(f"  {remark}", file=out)


def print_table(scores, together, out):
    columns = ("capture", "injected", "named first", "share", "causes", "times", "headlines", "calls", "kernel calls", "tracing", "parts", "quiet", "blamed", "real", "invented nothing")
    rows = [columns, *(row(score) for score in scores)]
    widths = [max(len(line[column]) for line in rows) for column in range(len(columns))]
    for number, line in enumerate(rows):
        verdict = "      " if number == 0 else "pass  " if scores[number - 1].good(together) else "FAIL  "
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
        print(verdict + "  ".join(cells), file=out)


def row(score):
    causes, times = (f"{part}/{score.shares}" for part in (score.present, score.in_time))
    honest = score.quiet - score.invented
    shares = (percent(score.right, score.planted), percent(honest, score.quiet))
    blamed = str(score.invented + score.real)
    quiet = (str(score.quiet), blamed, str(score.real), shares[1])
    told = f"{score.told.told}/{score.told.judged}" if score.told.judged else "-"
    calls = f"{score.calls.right}/{score.calls.judged}" if score.calls.judged else "-"
    kernel = f"{score.kernel.right}/{score.kernel.judged}" if score.kernel.judged else "-"
    parts = f"{score.parts.right}/{score.parts.judged}" if score.parts.judged else "-"
    difference = score.kernel.difference()
    tracing = "-" if difference is None else f"{100 * difference:+.1f} %"
    return (score.name, str(score.planted), str(score.right), shares[0], causes, times, told, calls, kernel, tracing, parts, *quiet)


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def print_confusion(first_named, out):
    """Who was taken for whom: a row per truth, a column per cause named first."""
    truths = sorted({truth for truth, _ in first_named})
    named = sorted({named for _, named in first_named})
    if not truths:
        return
    print("\nnamed first (columns) for each truth (rows)", file=out)
    for number, name in enumerate(named, 1):
        print(f"  [{number}] {name}", file=out)
    width = max(map(len, truths))
    print("  " + " " * width + "".join(f"{f'[{number}]':>6}" for number in range(1, len(named) + 1)), file=out)
    for truth in truths:
        cells = "".join(f"{first_named[truth, name] or '.':>6}" for name in named)
        print(f"  {truth:<{width}}{cells}", file=out)
    print(file=out)
