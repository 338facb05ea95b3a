"""Probabilities against published tables."""

import math
from random import Random

from pytest import approx
from tailtrace_fleet import report, statistics


def test_the_normal_and_the_chi_square_distribution_at_their_five_percent():
    assert statistics.of_normal(1.959964) == approx(0.05, rel=1e-6)
    assert statistics.of_normal(-2.575829) == approx(0.01, rel=1e-6)
    assert statistics.of_chi_square(3.841459) == approx(0.05, rel=1e-6)
    assert statistics.of_chi_square(-1e-12) == 1


def test_the_example_of_benjamini_and_hochberg():
    # Their table of fifteen comparisons: at 0.05 the four smallest are rejected.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1]
    corrected = statistics.adjusted(p)
    assert sum(q <= 0.05 for q in corrected) == 4
    assert corrected[3] == approx(0.0095 * 15 / 4)
    assert corrected == sorted(corrected)
    assert statistics.adjusted(list(reversed(p))) == list(reversed(corrected))
    assert statistics.adjusted([]) == []


def test_percentiles_of_a_sketch_are_within_its_error():
    gamma = 1.01 / 0.99
    bins = [(None, 10), (100, 80), (400, 9), (500, 1)]
    values = statistics.percentiles(bins, gamma, [0.05, 0.5, 0.99, 0.999])
    # Bin i ends at gamma^i: 7.39, 2981 and 22028 ns; the estimate is one percent below.
    assert values == [0, 7, approx(2981 * 0.99, rel=1e-3), approx(22028 * 0.99, rel=1e-3)]


def test_a_hostile_bin_is_bounded():
    assert statistics.estimate(2**62, 1.02) == 2**62
    assert statistics.estimate(-(2**62), 1.02) == 0


def points(random, story, shares):
    """The rows of `new_since.sql` for a story that this share of a day's hundred captures holds: each day but the first."""
    held = [sum(random.random() < share for _ in range(100)) for share in shares]
    rows = []
    for day in range(1, len(held)):
        a, c = sum(held[day:]), sum(held[:day])
        b, d = 100 * (len(held) - day) - a, 100 * day - c
        if a * (c + d) <= c * (a + b):
            continue
        cells, margins, total = (a, b, c, d), (a + b, c + d, a + c, b + d), a + b + c + d
        g = 2 * (sum(map(weighed, cells)) - sum(map(weighed, margins)) + weighed(total))
        rows.append(
            {"story": story, "service": "shop", "kind": "day", "point": str(day), "first_day": f"2026-11-{day:02}", "g": g}
            | {"captures_with_before": c, "captures_before": c + d, "captures_with_since": a, "captures_since": a + b}
        )
    return rows


def weighed(count):
    return count * math.log(count) if count else 0.0


def test_what_is_new_is_hardly_ever_chance():
    # Each fleet has one story that is new on the fifth day, and eleven that never change: findings of these are chance.
    random, chance = Random(1), 0
    for _ in range(600):
        rows = points(random, "new", [0.0] * 5 + [0.5] * 5)
        rows += [row for number in range(11) for row in points(random, f"usual {number}", [0.1] * 10)]
        found = report.new_since(rows, None)
        assert (found[0]["story"], found[0]["point"]) == ("new", "5")
        chance += len(found) - 1
    # At most 1 % of what is found: of two findings, one is chance in at most 2 % of the fleets. With each day as a test of its own it was 6 %.
    assert chance <= 12


def test_of_two_changes_the_later_one_is_new_since_then():
    rows = points(Random(2), "s", [0.05] * 3 + [0.5] * 4 + [0.95] * 3)
    assert [row["point"] for row in report.new_since(rows, None)] == ["3"]
    assert [row["point"] for row in report.new_since(rows, "2026-11-05")] == ["7"]
