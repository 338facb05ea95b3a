"""Reads with stock perf what the records say of a cause in an interval: a witness for intervals whose causes the truth
does not list, because nothing but the usual happened in them.

Input: a capture's perf.data, and intervals of one thread by perf time. Output: nanoseconds, by pairs of records alone:
switched out, woken, the woken CPU's first record, switched in; begin and end of softirqs and interrupts. Nothing of tailtrace's is used.
"""

import re
import subprocess
from bisect import bisect_left
from collections import defaultdict

LINE = re.compile(r"\s*.*?\s+(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\S+):\s*(.*)")
SWITCH = re.compile(r"prev_comm=.* prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> next_comm=.* next_pid=(\d+)")
WOKEN = re.compile(r"comm=.* pid=(\d+) prio=")
SOFTIRQ = re.compile(r"vec=\d+ \[action=(\w+)\]")


class Witness:
    """One capture's records, read when they are asked for the first time."""

    def __init__(self, perf_data):
        self.perf_data = perf_data
        self.threads = None

    def excess(self, cause, outlier, baselines):
        """How much more time `cause` may have taken in `outlier` than in its baselines on average, by the records' bounds;
        None where records do not tell."""
        took = [self.time(cause, one) for one in (outlier, *baselines)]
        if len(took) < 2 or None in took:
            return None
        return took[0][1] - sum(least for least, _ in took[1:]) / len(took[1:])

    def time(self, cause, interval):
        """The least and the most time of `cause` in an interval of the report."""
        thread = interval["stop_thread"] or interval["start_thread"]
        kind = next((kind for prefix, kind in KINDS if cause.startswith(prefix)), None)
        if thread is None or kind is None or interval["start_thread"] not in (None, thread):
            return None
        if self.threads is None:
            self.read()
        start = int(interval["start_ns"])
        kinds = (cause.rsplit(".", 1)[-1],) * 2 if kind == ("softirq",) else (kind[0], kind[-1])
        return [inside(self.threads[thread["tid"], kind], start, start + interval["duration_ns"]) for kind in kinds]

    def read(self):
        """All stretches by thread and kind."""
        self.threads = defaultdict(list)
        command = ["perf", "script", "-i", str(self.perf_data), "--no-itrace", "--ns", "-F", "comm,tid,cpu,time,event,trace"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except FileNotFoundError:
            return
        records = []
        for line in run.stdout.splitlines():
            match = LINE.match(line)
            if match:
                tid, cpu, seconds, ns, event, arguments = match.groups()
                records.append((int(seconds) * 10**9 + int(ns), int(tid), int(cpu), event, arguments))
        records.sort(key=lambda record: record[0])
        book = Book(self.threads)
        for record in records:
            book.enter(*record)


# The first prefix that fits tells between which records a cause lies. A woken CPU's first instruction, with which the
# exit from idle ends and the wait for the CPU begins, lies somewhere between the wake-up and its first record.
KINDS = (("offcpu.runnable", ("ready", "queued")), ("power.c-state-exit", ("waking",)), ("offcpu.preempted", ("preempted",)),
         ("offcpu.", ("asleep",)), ("kernel.softirq.", ("softirq",)), ("kernel.timer", ("interrupt",)),
         ("kernel.ipi", ("interrupt",)), ("kernel.irq", ("interrupt",)))


class Book:
    """Pairs records as they come."""

    def __init__(self, threads):
        self.threads = threads
        self.left, self.woken, self.begun, self.waking, self.awake_at = {}, {}, {}, {}, {}

    def enter(self, at, tid, cpu, event, arguments):
        self.awake(at, cpu)
        if event == "sched:sched_switch":
            previous, state, following = SWITCH.match(arguments).groups()
            self.left[int(previous)] = (at, state)
            self.back(int(following), at)
        elif event == "sched:sched_waking":
            woken, target = int(WOKEN.match(arguments)[1]), int(arguments.rsplit("=", 1)[1])
            self.woken[woken] = at
            self.waking[target] = (at, woken)
        elif event.endswith("_entry"):
            self.begun[cpu, event.removesuffix("_entry")] = at
        elif event.endswith("_exit") and (cpu, event.removesuffix("_exit")) in self.begun:
            softirq = SOFTIRQ.match(arguments)
            name = softirq[1].lower() if softirq else "interrupt"
            self.threads[tid, name].append((self.begun.pop((cpu, event.removesuffix("_exit"))), at))

    def awake(self, at, cpu):
        """The first record of a CPU behind a wake-up: by then it runs."""
        if cpu in self.waking and at > self.waking[cpu][0]:
            since, woken = self.waking.pop(cpu)
            self.awake_at[woken] = at
            self.threads[woken, "waking"].append((since, at))

    def back(self, tid, at):
        since, state = self.left.pop(tid, (None, ""))
        woken, awake_at = self.woken.pop(tid, None), self.awake_at.pop(tid, None)
        if since is None:
            return
        if state.startswith("R"):
            self.threads[tid, "preempted"].append((since, at))
        elif woken is not None and woken >= since:
            self.threads[tid, "asleep"].append((since, woken))
            self.threads[tid, "queued"].append((woken, at))
            self.threads[tid, "ready"].append((awake_at or woken, at))


def inside(stretches, start, stop):
    """How much of [start, stop) the stretches, in order of their ends, cover."""
    first = bisect_left(stretches, start, key=lambda stretch: stretch[1])
    return sum(max(0, min(end, stop) - max(begin, start)) for begin, end in stretches[first:] if begin < stop)
