"""Holds the headlines of planted intervals against what a person would say of them.

A workload's list of stories (fixtures/emulator/workloads/NAME.stories) has a line per kind of planted cause: the kind (the
program's name of it, else the cause), a colon, and words. All must be in the headline, in any order, in any case; | between
alternatives, ! before a word that must not be there, {by} is the thread that the program names. So a list says what must be
told, never how.
The bars: 97 % of the headlines match; a kind's words match under 5 % of the headlines of intervals without that kind.
"""

from pathlib import Path

WORKLOADS = Path(__file__).resolve().parent.parent / "fixtures/emulator/workloads"
TOLD, MISTAKEN = 0.97, 0.05


def read(name):
    """{kind: words} of the workload NAME; empty where it has no list."""
    path = WORKLOADS / f"{name}.stories"
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = [line.split(":", 1) for line in lines if line.strip() and not line.startswith("#")]
    return {kind.strip(): words.split() for kind, words in pairs}


def matches(words, by, headline):
    """Whether the headline holds all words."""
    text = headline.lower()

    def holds(word):
        return any(choice.replace("{by}", by).lower() in text for choice in word.split("|"))
    return all(not holds(word[1:]) if word.startswith("!") else holds(word) for word in words)


class Told:
    """One capture's headlines."""

    def __init__(self, stories, truth, reports):
        self.judged = self.told = 0
        self.remarks = []
        headlines = []  # (kinds that are planted there, by, headline)
        for id, (kind, by, kinds) in truth.stories.items():
            if kind not in stories or id not in reports:
                continue
            headline = reports[id]["headline"]
            headlines.append((kinds, by, headline))
            self.judged += 1
            self.told += matches(stories[kind], by, headline)
            if not matches(stories[kind], by, headline):
                self.remarks.append(f"{id}: {kind} ({' '.join(stories[kind])}) is not told: {headline}")
        self.mistaken = mistaken(stories, headlines)

    def good(self, together):
        """Whether both bars are met; where the captures' headlines are counted `together`, only that of this capture's words."""
        return (together or all_told([self])) and not self.mistaken


def all_told(captures):
    """Whether enough headlines of all these captures match."""
    return sum(told.told for told in captures) >= TOLD * sum(told.judged for told in captures)


def mistaken(stories, headlines):
    """{kind: share of the headlines without that kind which its words match}, where that is too much."""
    shares = {}
    for kind, words in stories.items():
        others = [(by, headline) for kinds, by, headline in headlines if kind not in kinds]
        wrong = sum(matches(words, by, headline) for by, headline in others)
        if wrong > MISTAKEN * len(others):
            shares[kind] = wrong / len(others)
    return shares
