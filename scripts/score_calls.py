"""Judges the calls of the program's own functions against the log: how often each was called, and from where.

Direct and mutual recursion is one node in a report: of such functions the sum counts, and who called them does not.
"""

from collections import Counter


class Calls:
    """How many functions of the injected intervals have the calls and callers of the log."""

    def __init__(self, known, aliases, reports):
        self.right = self.judged = 0
        self.aliases = aliases
        self.remarks = []
        for id, calls in known.items():
            if id in reports:
                self.judge(id, calls, reports[id]["calls"])

    def judge(self, id, calls, nodes):
        recursive = in_circles(calls)
        known, told = Counter(), Counter()
        for function, caller, times in calls:
            known[function, "" if function in recursive else caller] += times
        for node in nodes:
            if node["layer"] == "user" and node["calls"]:
                name, caller = self.named(node), node["caller"]
                is_one = name in recursive or caller is None
                told[name, "" if is_one else self.named(nodes[caller])] += node["calls"]
        told = outside_is_one(told, known)
        functions = {function for function, _ in known}
        for function, caller in sorted(set(known) | {pair for pair in told if pair[0] in functions}):
            found, times = told[function, caller], known[function, caller]
            self.judged += 1
            self.right += found == times
            if found != times:
                self.remarks.append(f"{id}: {function}() called {found} times by {caller or 'any'}, by the log {times} times")

    def named(self, node):
        """The log's name of a node's function, whatever alias the report chose."""
        return self.aliases.get(node["function"], node["function"])

    def good(self):
        return self.right == self.judged


def outside_is_one(told, known):
    """The calls with the callers of the log: one outside of the program is "" there, whatever its name."""
    inside = Counter()
    for (function, caller), times in told.items():
        is_outside = (function, "") in known and (function, caller) not in known
        inside[function, "" if is_outside else caller] += times
    return inside


def in_circles(calls):
    """The functions that call themselves, by way of others, too."""
    called = {}
    for function, caller, _ in calls:
        called.setdefault(caller, set()).add(function)

    def reaches(function, from_):
        seen, open_ = set(), [from_]
        while open_:
            for below in called.get(open_.pop(), ()):
                if below == function:
                    return True
                if below not in seen:
                    seen.add(below)
                    open_.append(below)
        return False
    return {function for function, _, _ in calls if reaches(function, function)}
