"""The report as one page that fetches nothing and runs nothing.

Its Content-Security-Policy allows the style sheet alone, by its hash; every foreign string goes through `elements.tag`.
"""

import base64
import hashlib
import shlex
from pathlib import Path

from tailtrace_fleet import words
from tailtrace_fleet.drawings import line, sparkline, strip, swatch
from tailtrace_fleet.elements import Html, inner, table, tag
from tailtrace_fleet.escape import for_html
from tailtrace_fleet.families import family

STYLE = "".join((Path(__file__).parent / name).read_text() for name in ("colours.css", "page.css"))


def render(report):
    """The whole page."""
    named = {story["story"]: story for story in report["stories"]}
    return document(
        words.name(report["stories"][0]) if report["stories"] else "no story was found",
        header(report),
        tag(
            "main",
            stories_table(report),
            new_section(report, named),
            differing_section(report),
            tail_section(report, named),
            [story_section(story, report) for story in report["stories"]],
            attributes_section(report),
            captures_section(report),
        ),
    )


def document(title, *body):
    """A page with this title."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = [
        Html('<meta charset="utf-8">\n'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        Html('<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'),
        tag("title", title, " - tailtrace fleet"),
        Html(f"\n<style>{STYLE}</style>\n"),
    ]
    return f'<!DOCTYPE html>\n<html lang="en">\n{tag("head", head)}\n{tag("body", *body)}\n</html>\n'


def header(report):
    """What this is, what it covers, and what matters most."""
    totals = report["totals"]
    covers = (
        f"{words.plural(totals['captures'], 'capture')} {words.period(totals)}: {words.slow(totals)}; "
        f"{words.count(totals['explained'])} of them explained."
    )
    found = words.findings(report)
    first = tag("h1", found[0]) if found else tag("h1", "No story was found")
    return tag(
        "header",
        tag("p", tag("b", "tailtrace"), " fleet", class_="brand"),
        tag("p", "What made requests slow", class_="eyebrow"),
        first,
        tag("ul", *(tag("li", sentence) for sentence in found[1:])),
        tag("p", covers, class_="sub"),
        percentiles(report["services"]),
    )


def percentiles(services):
    """Durations of all intervals by service; nothing where no sketch was readable."""
    if not services:
        return None
    names = list(services[0]["percentiles_ns"])
    rows = [
        [one["service"], words.count(one["weighted_intervals"]), *(words.length(one["percentiles_ns"][n]) for n in names)]
        for one in services
    ]
    error = max(one["relative_error"] for one in services)
    return inner(
        [
            tag("h3", "Durations of all intervals"),
            table(["service", "#intervals", *(f"#{name}" for name in names)], rows),
            tag("p", f"From merged sketches: within {100 * error:.0f} %, weighted.", class_="note"),
        ]
    )


def stories_table(report):
    """All stories in a line each."""
    rows = []
    for story in report["stories"]:
        rows.append(
            [
                story["place"],
                inner([swatch(story["cause"]), tag("a", words.name(story), href=f"#story-{story['place']}")]),
                words.length(story["weighted_excess_ns"]),
                words.share(story["share"]),
                words.count(story["weighted_foremost"]),
                words.count(story["hosts"]),
                sparkline(story["by_day"]),
            ]
        )
    left = report["all_stories"] - len(report["stories"])
    more = f" {words.plural(left, 'more story').replace('storys', 'stories')} cost less." if left else ""
    return tag(
        "section",
        tag("h2", "Stories by cost"),
        tag(
            "p",
            "A story is a chain of causes with the functions and objects in it, the same on every host and in every build. Its excess is "
            "the time beyond what typical intervals take, weighted by how many slow intervals each capture stands for."
            + more,
            class_="note",
        ),
        table(["#", "=story", "#excess", "#share", "#foremost in", "#hosts", "by day, for each interval"], rows),
    )


def new_section(report, named):
    """What is new, or more frequent."""
    rows = [
        [
            words.name(named[row["story"]]) if row["story"] in named else row["story"],
            f"{row['kind']} {row['point']}",
            row["first_day"],
            ", ".join(row["services"]),
            f"{words.count(row['captures_with_before'])} of {words.count(row['captures_before'])}",
            f"{words.count(row['captures_with_since'])} of {words.count(row['captures_since'])}",
            "new" if row["ratio"] is None else words.times(row["ratio"]),
        ]
        for row in report["new"][:20]
    ]
    return tag(
        "section",
        tag("h2", "New or more frequent"),
        tag(
            "p",
            "Captures that hold a story, before and since a release or day: G test, corrected for all releases, days and stories that were "
            "tried (Benjamini-Hochberg, at most 1 % of what is listed is expected to be chance).",
            class_="note",
        ),
        table(["=story", "since", "from", "services", "#captures before", "#captures since", "#ratio"], rows)
        if rows
        else tag("p", "No story became more frequent."),
    )


def differing_section(report):
    """Machines, releases and hosts that differ from the rest."""
    parts = []
    for title, key, empty in (
        ("Microcode, CPU models and kernels", "machines", "None differs from the rest."),
        ("Releases", "releases", "No release differs from the rest."),
        ("Hosts", "hosts", "No host differs from hosts like it."),
    ):
        rows = [
            [
                f"{words.ATTRIBUTES[row['attribute']]} {row['value']}",
                words.times(row["ratio"]),
                words.count(row["weighted_outliers"]),
                words.count(row["expected_outliers"]),
                words.plural(row["units"], "day" if key == "hosts" else "host"),
                words.chance(row["q"]),
                words.story_with(report, row).removeprefix("; it goes with: "),
            ]
            for row in report[key][:20]
        ]
        left = len(report[key]) - len(rows)
        head = ["=more slow intervals with", "#ratio", "#slow", "#expected", "#measured on", "#corrected p", "story"]
        parts += [
            tag("h3", title),
            table(head, rows) if rows else tag("p", empty),
            tag("p", f"and {left} more", class_="note") if left else None,
        ]
    return tag(
        "section",
        tag("h2", "What differs from the rest"),
        tag(
            "p",
            "Rates of slow intervals by host, compared with other hosts of the same service and kind (Mann-Whitney within these groups, "
            "corrected by Benjamini-Hochberg). A CPU model differs, too, if one of its microcodes does: the larger ratio stands first.",
            class_="note",
        ),
        parts,
    )


def tail_section(report, named):
    """The composition of the tail by percentile."""
    rows = []
    for band in report["tail"]:
        first = band["stories"][0] if band["stories"] else None
        known = named.get(first["story"]) if first else None
        rows.append(
            [
                band["service"],
                band["band"],
                words.between(band["shortest_ns"], band["longest_ns"]),
                words.count(band["weighted_outliers"]),
                strip([(share["share"], named.get(share["story"])) for share in band["stories"]]),
                f"{words.share(first['share'])} {words.name(known) if known else 'other'}" if first else "",
            ]
        )
    return tag(
        "section",
        tag("h2", "The tail by percentile"),
        table(["service", "slowest", "durations", "#slow", "excess by story", "=most of it"], rows),
    )


def story_section(story, report):
    """One story in detail."""
    where = [
        [
            f"{words.ATTRIBUTES[row['attribute']]} {row['value']}",
            words.times(row["ratio"]),
            words.chance(row["q"]),
        ]
        for row in story["goes_with"]
    ]
    hosts = [
        [row["host"], words.length(row["weighted_excess_ns"]), words.share(row["share"] or 0.0)] for row in story["top_hosts"]
    ]
    _, kind = family(story["cause"])
    return tag(
        "section",
        tag("p", f"Story {story['place']}: {words.length(story['weighted_excess_ns'])}, {words.share(story['share'])}", class_="eyebrow"),
        tag("h2", swatch(story["cause"]), words.name(story)),
        tag(
            "dl",
            [tag("dt", "cause"), tag("dd", f"{story['cause']} ({kind})")],
            [tag("dt", "chain"), tag("dd", story["chain"])],
            [tag("dt", "story"), tag("dd", tag("code", story["story"]))],
            [tag("dt", "seen"), tag("dd", seen(story))],
        ),
        example(story["example"]),
        [tag("h3", "Goes with"), table(["=more frequent with", "#ratio", "#corrected p"], where)] if where else None,
        tag(
            "details",
            tag("summary", spread(story)),
            table(["host", "#excess", "#share"], hosts),
        )
        if hosts
        else None,
        id=f"story-{story['place']}",
    )


def spread(story):
    """On how many hosts, and how much the first of them have."""
    first = len(story["top_hosts"])
    held = words.share(sum(row["share"] or 0.0 for row in story["top_hosts"]))
    return f"On {words.plural(story['hosts'], 'host')}" + (f"; the first {first} have {held}" if story["hosts"] > first else "")


def seen(story):
    """How often and when."""
    days = words.period({"first_day": story["first_day"], "last_day": story["last_day"]})
    return (
        f"{words.plural(story['occurrences'], 'time')}, foremost in {words.plural(story['foremost'], 'slow interval')}, weighted "
        f"{words.count(story['weighted_foremost'])}; {days}"
    )


def example(found):
    """The best example: its headline, where its bundle is, its time line."""
    if found is None:
        return tag("p", "In no explained interval is it the foremost cause.", class_="note")
    of = " ".join(part for part in (found["label"], found["key"] or f"interval {found['interval']}") if part)
    return inner(
        [
            tag("h3", "Best example"),
            tag("p", f"{of}: {found['headline'] or words.length(found['duration_ns'])}"),
            line(found["segments"], found["duration_ns"]),
            longest(found["segments"]),
            tag(
                "p",
                " · ".join(part for part in (found["host"], found["service"], found["release"], found["day"]) if part),
                class_="note",
            ),
            tag("p", tag("code", found["uri"])),
            whole_report(found),
        ]
    )


def whole_report(found):
    """What `tailtrace explain` prints on the example, to be opened; where it could not be had, why, and the command."""
    text = found.get("report")
    if text is not None:
        lines = Html("\n".join(for_html(line) for line in text.splitlines()))
        return tag("details", tag("summary", "Its report"), tag("pre", lines, class_="wide"))
    command = f"tailtrace explain -i {shlex.quote(found['uri'])} --id {found['interval']}"
    reason = found.get("no_report")
    return tag("p", "Its report: ", tag("code", command), f" ({reason})" if reason else None, class_="note")


def longest(segments):
    """The twenty longest segments of a time line in order of time, to be opened; nothing where there are none."""
    if not segments:
        return None
    kept = sorted(sorted(segments, key=lambda segment: -segment["duration_ns"])[:20], key=lambda segment: segment["offset_ns"])
    rows = [
        [
            words.length(segment["offset_ns"]),
            words.length(segment["duration_ns"]),
            "" if segment["cpu"] is None else segment["cpu"],
            segment["certainty"],
            inner([swatch(segment["cause"]), segment["cause"]]),
            ", ".join(part for part in (segment["function"], segment["object"], segment["who"]) if part),
        ]
        for segment in kept
    ]
    of = f"The {len(kept)} longest of {len(segments)} segments" if len(kept) < len(segments) else words.plural(len(kept), "segment")
    return tag("details", tag("summary", of), table(["#at", "#for", "#CPU", "certainty", "=cause", "where and who"], rows))


def attributes_section(report):
    """What each value of each attribute costs."""
    parts = []
    for attribute, rows in report["attributes"].items():
        listed = [
            [
                row["value"],
                words.count(row["hosts"]),
                words.count(row["captures"]),
                f"{1e6 * row['weighted_outliers'] / row['weighted_intervals']:.0f}" if row["weighted_intervals"] else "",
                words.length(row["weighted_excess_ns"]),
                words.length(round(row["weighted_excess_ns"] / row["weighted_intervals"])) if row["weighted_intervals"] else "",
            ]
            for row in rows
        ]
        head = [f"={words.ATTRIBUTES[attribute]}", "#hosts", "#captures", "#slow of a million", "#excess", "#for each interval"]
        parts.append(tag("details", tag("summary", f"By {words.ATTRIBUTES[attribute]}"), table(head, listed)))
    return tag("section", tag("h2", "Cost by attribute"), parts)


def captures_section(report):
    """What could not be read, and what is wrong with what could."""
    status = ", ".join(f"{name}: {words.count(number)}" for name, number in sorted(report["totals"]["status"].items()))
    rows = [[row["severity"], row["what"], words.count(row["captures"]), row["uri"]] for row in report["diagnostics"]]
    return tag(
        "section",
        tag("h2", "Captures"),
        tag("p", f"By status: {status}."),
        table(["severity", "=what", "#captures", "for example"], rows) if rows else None,
    )
