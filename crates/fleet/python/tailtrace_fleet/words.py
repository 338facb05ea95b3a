"""How numbers and sentences read: the same on the page and in Markdown. Nothing here is escaped."""

# As `crates/report/src/units.rs`: a unit, its ns, decimals, and up to which rounded value it is used.
SCALES = (
    ("ns", 1, 0, 1000),
    ("us", 1e3, 2, 10),
    ("us", 1e3, 1, 1000),
    ("ms", 1e6, 2, 10),
    ("ms", 1e6, 1, 1000),
    ("s", 1e9, 2, 10),
    ("s", 1e9, 1, 600),
    ("min", 60e9, 1, 120),
    ("h", 3600e9, 1, 1e300),
)
ATTRIBUTES = {
    "host": "host",
    "cpu_model": "CPU model",
    "microcode": "microcode",
    "kernel": "kernel",
    "release": "release",
    "service": "service",
}


def length(ns):
    """A duration: `1.90 ms`."""
    sign, ns = ("-" if ns < 0 else ""), abs(ns)
    for unit, size, decimals, below in SCALES:
        if round(ns / size, decimals) < below:
            return f"{sign}{ns / size:.{decimals}f} {unit}"
    return f"{sign}{ns} ns"


def between(shortest, longest):
    """`2.36 ms to 6.44 ms`, or one length where both read alike."""
    ends = length(shortest), length(longest)
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def share(value):
    """A share: `23 %`, `0.4 %`."""
    percent = 100 * value
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %" if percent >= 0.05 else "0 %"


def count(value):
    """A number with thin groups: `1 120 174`."""
    return f"{round(value):,}".replace(",", "\u202f")


def times(ratio):
    """How often more: `1.9 times`."""
    return "only here" if ratio is None else f"{ratio:.1f} times" if ratio < 100 else f"{count(ratio)} times"


def chance(q):
    """A corrected probability."""
    return f"{q:.2g}" if q >= 1e-12 else "below 1e-12"


def name(story):
    """A story in words: what happened, and whom it is due to."""
    what = story["what"] or story["cause"]
    return f"{what}, {story['who']}" if story["who"] else what


def plural(number, noun):
    """`1 host`, `3 hosts`."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def period(totals):
    """From which day to which."""
    first, last = totals["first_day"], totals["last_day"]
    if first is None:
        return "on unknown days"
    return f"on {first}" if first == last else f"from {first} to {last}"


def slow(totals):
    """How many intervals are slow, and for how many these stand where recordings skipped some."""
    weighted = f"{count(totals['weighted_outliers'])} of {plural(totals['weighted_intervals'], 'interval')}"
    if totals["weighted_outliers"] == totals["outliers"]:
        return f"{weighted} are slow"
    return f"{plural(totals['outliers'], 'slow interval')}, which by weight stand for {weighted}"


def findings(report):
    """What matters most, a sentence each: the most costly story, what is new, which machines, releases and hosts differ."""
    stories = {story["story"]: name(story) for story in report["stories"]}
    sentences = []
    if report["stories"]:
        first = report["stories"][0]
        sentences.append(
            f"Most costly: {name(first)}: {length(first['weighted_excess_ns'])}, {share(first['share'])} of all excess, "
            f"on {plural(first['hosts'], 'host')}."
        )
    for row in report["new"][:1]:
        sentences.append(f"{since(row, stories)}.")
    for row in report["machines"][:1] + report["releases"][:1]:
        sentences.append(f"{differs(row)}{story_with(report, row)}.")
    hosts = report["hosts"]
    if hosts:
        named = ", ".join(row["value"] for row in hosts[:3])
        more = f" and {len(hosts) - 3} more" if len(hosts) > 3 else ""
        sentences.append(
            f"{plural(len(hosts), 'host')} with slow intervals more often than hosts like {'it' if len(hosts) == 1 else 'them'}: {named}{more}."
        )
    return sentences


def since(row, stories):
    """From which release or day on a story is found."""
    began = "" if row["first_day"] == "unknown" else f", which began on {row['first_day']}"
    point = f"release {row['point']}{began}" if row["kind"] == "release" else row["point"]
    how = "New" if row["ratio"] is None else f"{times(row['ratio'])} as frequent"
    return (
        f"{how} since {point}: {stories.get(row['story'], row['story'])}: in {count(row['captures_with_since'])} of "
        f"{plural(row['captures_since'], 'capture')} since, in {count(row['captures_with_before'])} of "
        f"{count(row['captures_before'])} before"
    )


def differs(row):
    """How much more often intervals are slow where an attribute has this value."""
    often = "Only intervals with" if row["ratio"] is None else f"Intervals are slow {times(row['ratio'])} as often with"
    are = " are slow" if row["ratio"] is None else " as with other values on machines like these"
    return f"{often} {ATTRIBUTES[row['attribute']]} {row['value']}{are}"


def story_with(report, row):
    """The story that goes with the value, as a clause; empty where none does."""
    for story in report["stories"]:
        if row.get("story") == story["story"]:
            return f"; it goes with: {name(story)}"
        for found in story["goes_with"]:
            if found["attribute"] == row["attribute"] and found["value"] == row["value"]:
                return f"; it goes with: {name(story)}"
    return ""
