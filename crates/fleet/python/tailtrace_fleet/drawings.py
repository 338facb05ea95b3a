"""The page's pictures: sparkline, strip and time line, as SVG without styles of their own."""

from tailtrace_fleet import words
from tailtrace_fleet.elements import Html, inner, tag
from tailtrace_fleet.families import family


def swatch(cause):
    """A square in the colour of the cause's family."""
    style, name = family(cause)
    bar = tag("rect", width=10, height=10, class_=f"bar {style}")
    return tag("svg", tag("title", name), bar, class_="swatch", viewBox="0 0 10 10", role="img")


def sparkline(days):
    """A bar for each day: weighted excess for each interval of that day."""
    rates = [(row["day"], row["weighted_excess_ns"] / row["weighted_intervals"]) for row in days if row["weighted_intervals"]]
    most = max((rate for _, rate in rates), default=0)
    if most <= 0:
        return ""
    bars = []
    for place, (day, rate) in enumerate(rates):
        height = 20 * max(rate, 0) / most
        title = tag("title", f"{day}: {words.length(round(rate))} for each interval")
        bars.append(tag("rect", title, x=6 * place, y=f"{22 - height:.2f}", width=5, height=f"{height:.2f}", class_="bar day"))
    label = f"from {rates[0][0]} to {rates[-1][0]}"
    size = f"0 0 {6 * max(len(rates), 10)} 22"
    return tag("svg", bars, class_="spark", viewBox=size, preserveAspectRatio="none", role="img", aria_label=label)


def strip(shares):
    """Shares of a whole by story, as one bar; `shares`: (share, story or None)."""
    x, bars = 0.0, []
    for share, story in shares:
        style, name = ("unknown", "other") if story is None else (family(story["cause"])[0], words.name(story))
        width = 1000 * share
        title = tag("title", f"{words.share(share)} {name}")
        bars.append(tag("rect", title, x=f"{x:.1f}", y=0, width=f"{width:.1f}", height=10, class_=f"bar edge {style}"))
        x += width
    return tag("svg", bars, class_="strip", viewBox="0 0 1000 10", preserveAspectRatio="none", role="img", aria_label="shares")


def line(segments, duration):
    """The time line of an outlier, with a legend; nothing where no segment was stored."""
    if not segments or duration <= 0:
        return None
    bars, families = [], {}
    for segment in segments:
        style, name = family(segment["cause"])
        families[style, name] = families.get((style, name), 0) + segment["duration_ns"]
        details = ", ".join(str(part) for part in (segment["function"], segment["object"], segment["who"]) if part)
        title = f"{segment['cause']} for {words.length(segment['duration_ns'])}" + (f": {details}" if details else "")
        x, width = 1000 * segment["offset_ns"] / duration, 1000 * segment["duration_ns"] / duration
        if 0 <= x <= 1000 and width > 0:
            width = f"{min(width, 1000 - x):.2f}"
            bars.append(tag("rect", tag("title", title), x=f"{x:.2f}", y=0, width=width, height=10, class_=f"bar {style}"))
    legend = [
        tag("span", swatch_of(style), f"{name} {words.length(took)} {words.share(took / duration)}")
        for (style, name), took in sorted(families.items(), key=lambda item: -item[1])
    ]
    picture = tag("svg", bars, class_="line", viewBox="0 0 1000 10", preserveAspectRatio="none", role="img", aria_label="time line")
    return inner([picture, tag("div", legend, class_="legend")])


def swatch_of(style):
    """A square of a class."""
    return Html(f'<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" class="bar {style}"></rect></svg>')
