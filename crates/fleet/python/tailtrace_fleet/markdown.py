"""The report as Markdown, for a ticket or a chat."""

from tailtrace_fleet import words
from tailtrace_fleet.escape import for_code, for_markdown


def render(report):
    """The findings, the stories, and what differs."""
    parts = ["# What made requests slow", "\n".join(f"* {for_markdown(sentence)}" for sentence in words.findings(report))]
    totals = report["totals"]
    parts.append(
        f"{words.plural(totals['captures'], 'capture')} {words.period(totals)}: {words.slow(totals)}."
    )
    parts.append(stories(report))
    differing = report["machines"] + report["releases"] + report["hosts"][:10]
    if differing:
        rows = [
            [f"{words.ATTRIBUTES[row['attribute']]} {row['value']}", words.times(row["ratio"]), words.chance(row["q"])]
            for row in differing
        ]
        parts.append(table(["more slow intervals with", "ratio", "corrected p"], rows))
    return "\n\n".join(parts) + "\n"


def stories(report):
    """The stories with their examples."""
    rows = [
        [
            str(story["place"]),
            words.name(story),
            words.length(story["weighted_excess_ns"]),
            words.share(story["share"]),
            words.count(story["hosts"]),
            Code(story["example"]["uri"]) if story["example"] else "",
        ]
        for story in report["stories"]
    ]
    return table(["", "story", "excess", "share", "hosts", "best example"], rows)


class Code(str):
    """A cell that is a span of code."""

    __slots__ = ()


def cell_of(cell):
    """One cell, escaped."""
    return for_code(cell) if isinstance(cell, Code) else for_markdown(cell)


def table(head, rows):
    """A table; its cells are escaped."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(cell_of(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)
