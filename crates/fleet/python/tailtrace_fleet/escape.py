"""Foreign strings made safe to show: names of hosts, functions, threads and files come from captures that anyone may have written.

The rules are those of `crates/report/src/escape.rs`: each bounds the length first, and spells out what cannot be printed.
"""

import html
import unicodedata

# The most characters of one string.
MOST = 400
# Invisible, or they change the order of others.
UNPRINTABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
KEEPS_MEANING = set("\\`*~[]|${}+!#")


def plain(raw):
    """One line without control, bidirectional and invisible characters; our own thin blanks stay."""
    cut = raw[:MOST] + ("…" if len(raw) > MOST else "")
    return "".join(f"\\u{{{ord(c):x}}}" if unicodedata.category(c) in UNPRINTABLE else c for c in cut)


def for_html(raw):
    """For text and quoted attributes."""
    return html.escape(plain(raw), quote=True)


def for_markdown(raw):
    """For a paragraph, list or table cell: no character keeps a meaning, and neither links nor notifies anyone."""
    shown = []
    text = plain(raw)
    for place, c in enumerate(text):
        before, after = text[place - 1 : place], text[place + 1 : place + 2]
        if c in "<>&":
            shown.append(html.escape(c))
        elif c == "@":
            shown.append("@\u2060")
        elif c == "#" and after.isdigit():
            shown.append("#\u2060")
        elif c in KEEPS_MEANING or marks(c, before, after):
            shown.append("\\" + c)
        else:
            shown.append(c)
    return "".join(shown)


def marks(c, before, after):
    """Whether `c` would emphasise, make a list, or link, where it stands."""
    if c in "_-":
        return not (before.isalnum() and after.isalnum())
    return (c == "/" and before == ":") or (c == "." and before in ("w", "W"))


def for_code(raw):
    """For a span of code in Markdown: to be copied, so nothing but what would end the span or a table's cell is changed."""
    return "`" + plain(raw).replace("`", "'").replace("|", "\\|") + "`"
