"""The questions over tables that fit on a page, with answers by hand or from the definitions of the tests."""

import math
from itertools import product

from made import capture
from pytest import approx
from tailtrace_fleet import queries, report, words


def test_a_story_counts_with_the_weight_of_its_captures(opened):
    connection = opened(
        capture("a", stories=[("rare", 1000), ("rare", 2000)]),
        capture("b", weight=4.0, host="b", day="2026-11-03", stories=[("frequent", 900)]),
    )
    first, second = queries.run(connection, "top_stories")
    assert (first["story"], first["weighted_excess_ns"], first["weighted_foremost"]) == ("frequent", 3600.0, 4.0)
    assert (second["story"], second["excess_ns"], second["foremost"], second["hosts"]) == ("rare", 3000, 2, 1)
    assert first["first_day"] == first["last_day"] == "2026-11-03"


def test_the_hosts_of_a_story_have_their_share(opened):
    connection = opened(
        capture("a", host="a", stories=[("s", 300)]),
        capture("b", host="b", stories=[("s", 100)]),
        capture("c", host=None, stories=[("s", 100)]),
    )
    rows = queries.run(connection, "story_hosts")
    assert [(row["host"], row["share"]) for row in rows] == [("a", 0.75), ("b", 0.25)]


def test_the_story_of_a_host_is_the_one_that_exceeds_what_others_have(opened):
    connection = opened(
        capture("a", host="a", stories=[("usual", 1)] * 6 + [("own", 1)] * 3),
        capture("b", host="b", stories=[("usual", 1)] * 5),
        capture("c", host="c", stories=[("usual", 1)] * 5, count=300),
    )
    rows = {row["host"]: row for row in queries.run(connection, "host_stories")}
    assert (rows["a"]["story"], rows["a"]["weighted_outliers"], rows["a"]["expected_outliers"]) == ("usual", 6.0, 2.5)
    assert "c" not in rows
    # Of b: 5 of 100; a and c have 11 of 400.
    assert rows["b"]["expected_outliers"] == 2.75


def mann_whitney(mine, others):
    """z from the definition: pairs in which one exceeds the other; the variance with its correction for ties."""
    u = sum((x > y) + (x == y) / 2 for x, y in product(mine, others))
    n, m = len(mine), len(others)
    both = mine + others
    ties = sum(both.count(value) ** 3 - both.count(value) for value in set(both))
    variance = n * m / 12 * ((n + m + 1) - ties / ((n + m) * (n + m - 1)))
    return (u - n * m / 2), variance


def test_a_microcode_is_compared_host_by_host_within_its_cpu_model(opened):
    slow = {"old": [9, 12, 7, 7, 15], "new": [3, 4, 7, 2, 0, 1]}
    captures = []
    for microcode, counts in slow.items():
        for number, count in enumerate(counts):
            host = f"{microcode}{number}"
            captures.append(capture(host, host=host, cpu_model="m", microcode=microcode, outliers=count))
    # Another CPU model, in which nothing is to be compared.
    captures += [capture(f"x{n}", host=f"x{n}", cpu_model="x", microcode="other", outliers=50) for n in range(4)]
    rows = {(row["attribute"], row["value"]): row for row in queries.run(opened(*captures), "differs") if row["story"] == ""}
    deviation, variance = mann_whitney(slow["old"], slow["new"])
    old = rows["microcode", "old"]
    assert old["z"] == approx(deviation / math.sqrt(variance), rel=1e-12)
    assert rows["microcode", "new"]["z"] == approx(-old["z"], rel=1e-12)
    assert (old["units"], old["other_units"], old["weighted_outliers"]) == (5, 6, 50.0)
    assert old["expected_outliers"] == approx(500 * 17 / 600)
    assert ("microcode", "other") not in rows
    assert ("cpu_model", "x") in rows


def test_strata_are_added_up(opened):
    # Two services of different rates; in both, release 2 is slower on each host.
    captures, deviation, variance = [], 0.0, 0.0
    for service, base in (("calm", 1), ("busy", 40)):
        rates = {"1": [base, base + 1, base + 2], "2": [base + 3, base + 4]}
        for release, counts in rates.items():
            for number, count in enumerate(counts):
                name = f"{service}{release}{number}"
                captures.append(capture(name, host=name, service=service, release=release, outliers=count))
        one = mann_whitney(rates["2"], rates["1"])
        deviation, variance = deviation + one[0], variance + one[1]
    rows = {row["value"]: row for row in queries.run(opened(*captures), "differs") if (row["story"], row["attribute"]) == ("", "release")}
    assert rows["2"]["z"] == approx(deviation / math.sqrt(variance), rel=1e-12)


def test_an_attribute_of_a_story_counts_hosts_without_it(opened):
    captures = []
    for number in range(6):
        kernel = "6.12" if number < 3 else "6.1"
        stories = [("s", 100)] * (2 if number < 3 else 0) + [("t", 100)]
        captures.append(capture(str(number), host=str(number), kernel=kernel, stories=stories))
    rows = {(row["story"], row["value"]): row for row in queries.run(opened(*captures), "differs")}
    deviation, variance = mann_whitney([2, 2, 2], [0, 0, 0])
    assert rows["s", "6.12"]["z"] == approx(deviation / math.sqrt(variance), rel=1e-12)
    assert rows["s", "6.12"]["expected_outliers"] == 0.0
    # All hosts are equal in the other story.
    assert ("t", "6.12") not in rows


def test_an_unknown_day_is_on_no_time_line(opened):
    known = [capture(f"k{n}", day=f"2026-11-0{n}", stories=[("s", 1)]) for n in (2, 3)]
    connection = opened(*known, *(capture(f"u{n}", day="unknown", stories=[("s", 1)]) for n in range(5)))
    (totals,) = queries.run(connection, "totals")
    assert (totals["captures"], totals["days"], totals["last_day"]) == (7, 2, "2026-11-03")
    assert [row["day"] for row in queries.run(connection, "story_days")] == ["2026-11-02", "2026-11-03"]
    assert queries.run(connection, "top_stories")[0]["last_day"] == "2026-11-03"
    assert all(row["point"] != "unknown" for row in queries.run(connection, "new_since"))


def test_a_fleet_of_unknown_days_is_reported(opened):
    connection = opened(*(capture(str(n), day="unknown", release=f"r{n}", stories=[("s", 1)]) for n in range(3)))
    assert words.period(report.build(connection)["totals"]) == "on unknown days"


def test_a_story_since_a_release_has_the_g_of_its_table(opened):
    captures = [capture(f"1{n}", release="r1", day="2026-11-02", stories=[("s", 1)] if n == 0 else []) for n in range(8)]
    captures += [capture(f"2{n}", release="r2", day="2026-11-03", stories=[("s", 1)] if n else []) for n in range(6)]
    rows = queries.run(opened(*captures), "new_since")
    found = next(row for row in rows if row["kind"] == "release")
    table = [[5, 1], [1, 7]]
    total = 14
    g = 2 * sum(
        cell * math.log(cell * total / (sum(row) * sum(other[column] for other in table)))
        for row in table
        for column, cell in enumerate(row)
    )
    assert found["g"] == approx(g, rel=1e-9)
    assert [found[name] for name in ("captures_with_before", "captures_before", "captures_with_since", "captures_since")] == [1, 8, 5, 6]
    assert (found["point"], found["first_day"]) == ("r2", "2026-11-03")


def test_a_story_that_went_is_not_new(opened):
    captures = [capture(f"1{n}", release="r1", day="2026-11-02", stories=[("s", 1)]) for n in range(8)]
    captures += [capture(f"2{n}", release="r2", day="2026-11-03") for n in range(8)]
    assert queries.run(opened(*captures), "new_since") == []


def test_bands_of_the_tail_are_shares_of_all_intervals(opened):
    stories = [("worst", 50_000)] + [("bad", 20_000)] * 9 + [("usual", 3000)] * 50
    connection = opened(capture("a", count=10_000, stories=stories))
    bands = {(row["band"], row["story"]): row["outliers"] for row in queries.run(connection, "tail")}
    assert bands == {("p99.99 and more", "worst"): 1, ("p99.9 to p99.99", "bad"): 9, ("p99 to p99.9", "usual"): 50}


def test_the_example_is_measured_and_of_usual_length(opened):
    one = capture("a", stories=[("s", excess) for excess in (1000, 5000, 5010, 90_000)])
    one["causes"][1]["certainty"] = "inferred"
    (example,) = queries.run(opened(one), "examples")
    assert (example["interval"], example["excess_ns"], example["median_excess_ns"]) == (2, 5010, 5005.0)
    assert example["uri"] == "s3://a"


def test_the_error_of_a_capture_is_a_diagnostic(opened):
    broken = capture("b", status="unreadable", error="no header")
    broken["diagnostics"] = [{"capture": "b", "severity": "error", "what": "no header"}]
    rows = queries.run(opened(capture("a"), broken), "diagnostics")
    assert {(row["severity"], row["what"], row["captures"]) for row in rows} == {
        ("error", "no header", 1),
        ("unreadable", "no header", 1),
    }


def with_attributes(one, outlier, typical):
    """The capture with typical intervals; `outlier` and `typical`: of each interval its attributes, name to number or text."""
    name = one["captures"][0]["capture"]
    for number, _ in enumerate(typical):
        one["intervals"].append({"capture": name, "interval": 100 + number, "role": "typical", "label": "request", "story": None})
    held = list(enumerate(outlier)) + [(100 + number, values) for number, values in enumerate(typical)]
    one["attributes"] = [
        {"capture": name, "interval": interval, "name": key, "text" if isinstance(value, str) else "number": value}
        for interval, values in held
        for key, value in values.items()
    ]
    return one


def test_a_counter_of_a_story_is_compared_within_its_capture(opened):
    captures, deviation, variance = [], 0.0, 0.0
    # What one host calls large is small on the other.
    for name, base in (("a", 10), ("b", 1000)):
        slow, usual = [base + 9, base + 8, base + 9], [base, base + 1, base + 2, base + 8]
        one = capture(name, host=name, stories=[("s", 100)] * len(slow))
        captures.append(with_attributes(one, [{"bytes": n} for n in slow], [{"bytes": n} for n in usual]))
        part = mann_whitney(slow, usual)
        deviation, variance = deviation + part[0], variance + part[1]
    (row,) = queries.run(opened(*captures), "story_counters")
    assert (row["story"], row["name"], row["text"], row["units"], row["other_units"]) == ("s", "bytes", None, 6, 8)
    assert row["z"] == approx(deviation / math.sqrt(variance), rel=1e-12)
    assert (row["own"], row["others"]) == (approx((26 + 3 * 10 + 26 + 3 * 1000) / 6), approx((11 + 40 + 11 + 4000) / 8))


def test_a_text_of_a_story_is_compared_within_its_capture(opened):
    captures, deviation, variance = [], 0.0, 0.0
    for name, slow, usual in (("a", ["cold"] * 4 + ["warm"], ["warm"] * 5 + ["cold"]), ("b", ["cold"] * 2, ["warm"] * 8)):
        one = capture(name, stories=[("s", 100)] * len(slow))
        captures.append(with_attributes(one, [{"cache": text} for text in slow], [{"cache": text} for text in usual]))
        # The hypergeometric distribution: of all, k are cold; of the story's n, n k / all are expected to be.
        n, both, k, x = len(slow), len(slow) + len(usual), (slow + usual).count("cold"), slow.count("cold")
        deviation += x - n * k / both
        variance += n * (both - n) * k * (both - k) / (both**2 * (both - 1))
    # `warm` is once with the story: too seldom to be tested.
    (row,) = queries.run(opened(*captures), "story_counters")
    assert (row["name"], row["text"], row["units"], row["other_units"]) == ("cache", "cold", 7, 14)
    assert row["z"] == approx(deviation / math.sqrt(variance), rel=1e-12)
    assert (row["own"], row["others"]) == (approx(6 / 7), approx(1 / 14))


def test_a_counter_that_all_have_alike_goes_with_no_story(opened):
    one = capture("a", stories=[("s", 100)] * 5)
    rows = queries.run(opened(with_attributes(one, [{"n": 1, "t": "x"}] * 5, [{"n": 1, "t": "x"}] * 5)), "story_counters")
    assert rows == []
