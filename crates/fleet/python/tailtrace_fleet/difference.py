"""Two weeks or releases against one another: which stories came, went, grew and shrank.

Input: a connection with the views and two sides. Output: one plain value, as `report` makes it.
"""

import re

from tailtrace_fleet import queries, statistics
from tailtrace_fleet.report import FACTOR, LEVEL
from tailtrace_fleet.tables import text

DAY = r"\d{4}-\d{2}-\d{2}"


class EmptySide(Exception):
    """No capture is on one of the sides."""


def condition(side):
    """The captures that a side names: `YYYY-MM-DD`, `YYYY-MM-DD..YYYY-MM-DD` (both included), else a release."""
    if found := re.fullmatch(rf"({DAY})(?:\.\.({DAY}))?", side):
        return f"day BETWEEN {text(found[1])} AND {text(found[2] or found[1])}"
    return f"release = {text(side.removeprefix('release='))}"


def build(connection, before, after):
    """The stories with their rates on both sides. Raises `EmptySide`."""
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW sides AS SELECT capture, 'before' AS side FROM captures WHERE {condition(before)}"
        f" UNION ALL SELECT capture, 'after' FROM captures WHERE {condition(after)}"
    )
    held = dict(connection.execute("SELECT side, count(*) FROM sides GROUP BY side").fetchall())
    for side, name in (("before", before), ("after", after)):
        if side not in held:
            raise EmptySide(f"no capture is of {name}: a side is a release, a day YYYY-MM-DD or two days with `..` between")
    rows = queries.run(connection, "diff")
    for row, q in zip(rows, statistics.adjusted([statistics.of_normal(row["z"]) for row in rows]), strict=True):
        row["q"] = q
        row |= {f"{side}_rate": rate(row, side, "outliers") for side in ("before", "after")}
        row |= {f"{side}_excess_rate_ns": rate(row, side, "excess_ns") for side in ("before", "after")}
        row["verdict"] = verdict(row)
    stories = [row for row in rows if row["story"]]
    stories.sort(key=lambda row: (-abs(row["after_excess_rate_ns"] - row["before_excess_rate_ns"]), row["story"]))
    return {
        "version": 1,
        "before": {"name": before, "captures": held["before"]},
        "after": {"name": after, "captures": held["after"]},
        "all": next((row for row in rows if not row["story"]), None),
        "stories": stories,
    }


def rate(row, side, what):
    """Of each interval on this side."""
    intervals = row[f"{side}_intervals"]
    return row[f"{side}_{what}"] / intervals if intervals else 0.0


def verdict(row):
    """`new`, `gone`, `more`, `fewer`, or `same` where the difference may be chance or is small."""
    before, after = row["before_rate"], row["after_rate"]
    if row["q"] > LEVEL or max(before, after) < FACTOR * min(before, after):
        return "same"
    if before == 0 or after == 0:
        return "new" if before == 0 else "gone"
    return "more" if after > before else "fewer"
