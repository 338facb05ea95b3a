"""HTML from values: every string that is not already HTML is escaped, so no caller can forget it."""

from tailtrace_fleet.escape import for_html


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name, *children, **attributes):
    """One element. A trailing `_` of an attribute's name is dropped, other `_` become `-`; None leaves an attribute or child out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{for_html(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{inner(children)}</{name}>")


def inner(children):
    """Children one after another; lists are opened."""
    parts = []
    for child in children:
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, (list, tuple)):
            parts.append(inner(child))
        elif child is not None:
            parts.append(for_html(str(child)))
    return Html("".join(parts))


def table(head, rows, **attributes):
    """A table; heads that begin with `#` are columns of numbers, those that begin with `=` of names."""
    classes = ["number" if title.startswith("#") else "name" if title.startswith("=") else None for title in head]
    titles = [tag("th", title.lstrip("#="), scope="col", class_=style) for title, style in zip(head, classes, strict=True)]
    body = [
        tag("tr", *(tag("td", cell, class_=style) for cell, style in zip(row, classes, strict=True))) for row in rows
    ]
    return tag(
        "div", tag("table", tag("thead", tag("tr", *titles)), tag("tbody", *body), **attributes), class_="wide"
    )
