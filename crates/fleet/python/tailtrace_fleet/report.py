"""The report on a fleet's tables: one plain value, which JSON shows as it is and the page and Markdown render.

Input: a connection with the views. Output: a dictionary of numbers, strings and lists; times in ns. What counts as a finding is
decided here, by `LEVEL`, `FACTOR` and the corrected probabilities; the queries only count.
"""

from tailtrace_fleet import queries, statistics

# A finding is at most so likely to be chance, after correction for all tests of its kind.
LEVEL = 0.01
# A finding is at least so much more frequent than among the rest; smaller differences matter to none.
FACTOR = 1.1
MACHINE = ("microcode", "cpu_model", "kernel")
SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999)
BANDS = ("p99.99 and more", "p99.9 to p99.99", "p99 to p99.9", "below p99")


def build(connection, top=20, since=None):
    """The report, with the `top` stories in detail; new is what came `since` a day (YYYY-MM-DD), else at any time in the tables."""
    totals = totals_of(queries.run(connection, "totals"))
    tested = grouped(queries.run(connection, "differs"))
    differing = differing_of(tested.pop("", []))
    stories = stories_of(connection, top, tested)
    totals["weighted_excess_ns"] = stories.pop("weighted_excess_ns")
    return {
        "version": 1,
        "totals": totals,
        "services": services_of(connection),
        "new": new_since(queries.run(connection, "new_since"), since),
        "machines": [row for row in differing if row["attribute"] in MACHINE],
        "releases": [row for row in differing if row["attribute"] == "release"],
        "hosts": with_stories([row for row in differing if row["attribute"] == "host"], queries.run(connection, "host_stories")),
        **stories,
        "tail": tail_of(queries.run(connection, "tail")),
        "attributes": attributes_of(queries.run(connection, "by_attribute")),
        "diagnostics": queries.run(connection, "diagnostics")[:50],
    }


def totals_of(by_status):
    """Sums over all captures, and how many have which status."""
    added = ("captures", "bytes", "intervals", "outliers", "explained", "weighted_intervals", "weighted_outliers")
    totals = {name: sum(row[name] for row in by_status) for name in added}
    totals["first_day"] = min((row["first_day"] for row in by_status if row["first_day"]), default=None)
    totals["last_day"] = max((row["last_day"] for row in by_status if row["last_day"]), default=None)
    totals["status"] = {row["status"]: row["captures"] for row in by_status}
    return totals


def services_of(connection):
    """Percentiles of all intervals of each service, from the merged sketches; sketches of different accuracy stay apart."""
    merged = {}
    for row in queries.rows(connection.execute(queries.SKETCHES)):
        merged.setdefault((row["service"], row["gamma"]), []).append((row["bin"], row["count"]))
    services = []
    for (service, gamma), bins in merged.items():
        values = statistics.percentiles(bins, gamma, SHARES)
        services.append(
            {
                "service": service,
                "relative_error": (gamma - 1) / (gamma + 1),
                "weighted_intervals": sum(count for _, count in bins),
                "percentiles_ns": {f"p{100 * share:g}": value for share, value in zip(SHARES, values, strict=True)},
            }
        )
    return services


def stories_of(connection, top, tested):
    """The `top` stories by weighted excess with all that is known of each, and how many there are; `tested`: by story, what may go with it."""
    ranked = queries.run(connection, "top_stories")
    total = sum(row["weighted_excess_ns"] for row in ranked if row["weighted_excess_ns"] > 0)
    kept = ranked[:top]
    by_day = queries.run(connection, "story_days")
    intervals = {row["day"]: row["weighted_intervals"] for row in by_day}
    days = grouped(by_day)
    hosts = grouped(queries.run(connection, "story_hosts"))
    examples = grouped(queries.run(connection, "examples"))
    all_tested = judged([row | {"story": story} for story, rows in tested.items() for row in rows])
    attributes = grouped([row for row in all_tested if is_finding(row) and row["ratio_or_all"] >= 1.5])
    for place, story in enumerate(kept, 1):
        name = story["story"]
        story["place"] = place
        story["share"] = story["weighted_excess_ns"] / total if total else 0.0
        story["by_day"] = filled(days.get(name, []), intervals)
        story["top_hosts"] = hosts.get(name, [])
        story["goes_with"] = by_ratio(attributes.get(name, []))[:6]
        story["example"] = example_of(connection, examples.get(name))
    for story in kept:
        for row in story["goes_with"]:
            del row["ratio_or_all"]
    return {"stories": kept, "all_stories": len(ranked), "weighted_excess_ns": total}


def grouped(rows):
    """Rows by their story, without it."""
    groups = {}
    for row in rows:
        groups.setdefault(row.pop("story"), []).append(row)
    return groups


def filled(days, intervals):
    """One row for each day on which any story was found, with nothing where this one was not."""
    found = {row["day"]: row for row in days}
    nothing = {"weighted_excess_ns": 0.0, "foremost": 0}
    return [found.get(day, {"day": day, "weighted_intervals": intervals[day]} | nothing) for day in sorted(intervals)]


def example_of(connection, examples):
    """The best example with its time line; None where no outlier has the story as its foremost cause."""
    if not examples:
        return None
    example = examples[0]
    line = connection.execute(queries.LINE, [example["capture"], example["interval"]])
    return example | {"segments": queries.rows(line)}


def judged(rows):
    """Rows of a Mann-Whitney query with probability, correction and ratio; the ratio is None where the others have none."""
    corrected = statistics.adjusted([statistics.of_normal(row["z"]) for row in rows])
    for row, q in zip(rows, corrected, strict=True):
        expected = row["expected_outliers"]
        row["ratio"] = row["weighted_outliers"] / expected if expected > 0 else None
        row["ratio_or_all"] = row["ratio"] if row["ratio"] is not None else 1e9
        row["q"] = q
    return rows


def is_finding(row):
    """More frequent than among the rest, by enough, and hardly by chance."""
    return row["q"] <= LEVEL and row["z"] > 0 and row["ratio_or_all"] >= FACTOR


def by_ratio(rows):
    """Those that differ most first."""
    return sorted(rows, key=lambda row: (-row["ratio_or_all"], row["q"], row["attribute"], row["value"]))


def differing_of(tested):
    """What has slow intervals more often than the rest; hosts are corrected among hosts, the rest among the rest."""
    of_hosts = judged([row for row in tested if row["attribute"] == "host"])
    of_rest = judged([row for row in tested if row["attribute"] != "host"])
    found = by_ratio([row for row in of_hosts + of_rest if is_finding(row)])
    for row in found:
        del row["ratio_or_all"]
    return found


def with_stories(hosts, of_hosts):
    """Hosts that differ, each with the story that makes most of its difference; None where no story does."""
    stories = {row["host"]: row["story"] for row in of_hosts}
    return [row | {"story": stories.get(row["value"])} for row in hosts]


def new_since(points, since):
    """Of each story the point from which on it is found more often, the clearest first.

    The points of one story and service are tries at one change, and much alike: the clearest counts, its probability times the number of tries
    (Bonferroni), and the correction for many tests is over stories and services. A release and a day may explain the same change: the one with
    the larger G is taken, a release where both are equal.
    """
    tried = {}
    for row in points:
        tried.setdefault((row["story"], row["service"]), []).append(row)
    found, chances = [], []
    for rows in tried.values():
        wanted = [row | {"ratio": growth(row)} for row in rows if not (since and row["first_day"] < since)]
        wanted = [row for row in wanted if row["ratio"] is None or row["ratio"] >= FACTOR]
        clearest = max(wanted, key=lambda row: (row["g"], row["kind"] == "release"), default=None)
        found.append(clearest)
        chances.append(min(1.0, len(rows) * statistics.of_chi_square(clearest["g"])) if clearest else 1.0)
    corrected = statistics.adjusted(chances)
    return merged_services([row | {"q": q} for row, q in zip(found, corrected, strict=True) if row and q <= LEVEL])


def growth(row):
    """How much more often captures hold the story since then; None where none did before."""
    before = row["captures_with_before"] / row["captures_before"]
    return row["captures_with_since"] / row["captures_since"] / before if before > 0 else None


def merged_services(rows):
    """One row for a story that several services have since the same point."""
    merged = {}
    for row in rows:
        one = merged.setdefault((row["story"], row["kind"], row["point"]), row | {"services": [], "g": 0.0})
        one["services"].append(row["service"])
        one["g"] += row["g"]
        if len(one["services"]) > 1:
            for name in ("captures_with_before", "captures_before", "captures_with_since", "captures_since"):
                one[name] += row[name]
            before = one["captures_with_before"] / one["captures_before"]
            one["ratio"] = one["captures_with_since"] / one["captures_since"] / before if before > 0 else None
            one["q"] = min(one["q"], row["q"])
            one["first_day"] = min(one["first_day"], row["first_day"])
    for one in merged.values():
        del one["service"]
    # What was never seen before stands first; among these, and among the rest, the clearest.
    return sorted(merged.values(), key=lambda row: (row["ratio"] is not None, -row["g"], row["story"]))


def tail_of(rows):
    """The bands of each service from the slowest down, with shares of their excess by story."""
    bands = {}
    for row in rows:
        bands.setdefault((row["service"], row["band"]), []).append(row)
    tail = []
    for (service, band), stories in sorted(bands.items(), key=lambda item: (item[0][0], BANDS.index(item[0][1]))):
        total = sum(max(row["weighted_excess_ns"], 0.0) for row in stories)
        tail.append(
            {
                "service": service,
                "band": band,
                "outliers": sum(row["outliers"] for row in stories),
                "weighted_outliers": sum(row["weighted_outliers"] for row in stories),
                "weighted_excess_ns": total,
                "shortest_ns": min(row["shortest_ns"] for row in stories),
                "longest_ns": max(row["longest_ns"] for row in stories),
                "stories": [
                    {"story": row["story"], "share": max(row["weighted_excess_ns"], 0.0) / total if total else 0.0}
                    for row in stories[:12]
                ],
            }
        )
    return tail


def attributes_of(rows):
    """The values of each attribute with their cost; of each attribute the twenty that cost most."""
    kept = {}
    for row in rows:
        values = kept.setdefault(row.pop("attribute"), [])
        if len(values) < 20:
            values.append(row)
    return kept
