"""A difference as a page and as Markdown."""

from tailtrace_fleet import markdown, words
from tailtrace_fleet.drawings import swatch
from tailtrace_fleet.elements import inner, table, tag
from tailtrace_fleet.page import document

HEAD = ["verdict", "story", "slow of a million, before", "after", "excess for each interval, before", "after", "corrected p"]


def sentence(difference):
    """The whole in a sentence."""
    whole = difference["all"]
    before, after = whole["before_rate"], whole["after_rate"]
    judged = {"same": "no difference beyond chance", "more": "more often slow", "fewer": "less often slow"}
    found = judged.get(whole["verdict"], whole["verdict"])
    return (
        f"{difference['after']['name']} against {difference['before']['name']}: {found}: {1e6 * after:.0f} of a million intervals "
        f"are slow, before {1e6 * before:.0f}"
    )


def row(story):
    """One story's cells after the verdict and the name."""
    return [
        f"{1e6 * story['before_rate']:.1f}",
        f"{1e6 * story['after_rate']:.1f}",
        words.length(round(story["before_excess_rate_ns"])),
        words.length(round(story["after_excess_rate_ns"])),
        words.chance(story["q"]),
    ]


def html(difference, top):
    """One page."""
    rows = [
        [story["verdict"], inner([swatch(story["cause"]), words.name(story)]), *row(story)] for story in difference["stories"][:top]
    ]
    head = [HEAD[0], f"={HEAD[1]}", *(f"#{title}" for title in HEAD[2:])]
    return document(
        sentence(difference),
        tag("header", tag("p", tag("b", "tailtrace"), " fleet diff", class_="brand"), tag("h1", sentence(difference))),
        tag("main", table(head, rows)),
    )


def as_markdown(difference, top):
    """The sentence and the table."""
    rows = [[story["verdict"], words.name(story), *row(story)] for story in difference["stories"][:top]]
    return f"{markdown.for_markdown(sentence(difference))}\n\n{markdown.table(HEAD, rows)}\n"
