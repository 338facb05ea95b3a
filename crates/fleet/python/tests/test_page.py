"""The page and Markdown: nothing foreign keeps a meaning, and the look is that of the other pages."""

import re
from html.parser import HTMLParser

from conftest import ROOT
from made import capture
from tailtrace_fleet import difference, difference_page, markdown, page, report
from tailtrace_fleet.escape import for_code, for_html, for_markdown
from tailtrace_fleet.families import FAMILIES, family

HOSTILE = "<img src=x onerror=alert(1)>\"'`|\n\x1b[31m\u202e@all #1 https://x.example ![a](b)"


class Elements(HTMLParser):
    """The names of all elements, and the attributes."""

    def __init__(self, text):
        super().__init__()
        self.names, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def hostile_tables():
    one = capture("c", stories=[(HOSTILE, 500)], host=HOSTILE, release=HOSTILE, kernel=HOSTILE, service="a<b>'c")
    one["captures"][0] |= {"uri": HOSTILE, "microcode": HOSTILE, "cpu_model": HOSTILE, "status": HOSTILE, "error": HOSTILE}
    one["intervals"][0] |= {"headline": HOSTILE, "label": HOSTILE, "key": HOSTILE}
    one["causes"][0] |= {"what": HOSTILE, "who": HOSTILE, "chain": HOSTILE, "cause": HOSTILE}
    one["segments"] = [
        {"capture": "c", "interval": 0, "duration_ns": 1500, "cause": HOSTILE, "function": HOSTILE, "who": HOSTILE, "service": "a<b>'c"}
    ]
    one["populations"][0]["sketch"] = '{"gamma":1.02,"zeros":"x","bins":[["a",1],[9999999999999,1e300],[5]]}'
    return one


def test_hostile_names_are_text(opened):
    connection = opened(hostile_tables())
    compared = difference.build(connection, "2026-11-02", f"release={HOSTILE}")
    for text in (page.render(report.build(connection)), difference_page.html(compared, 5)):
        elements = Elements(text)
        assert not elements.names & {"img", "script", "iframe", "object", "link", "base", "form"}
        assert not {name for name in elements.attributes if name.startswith("on") or name in ("src", "style")}
        assert "\x1b" not in text and "\u202e" not in text
        assert re.search(r"default-src 'none'; style-src 'sha256-[\w+/=]+'", text)
        assert set(re.findall(r'href="([^"]*)"', text)) <= {"#story-1"}


def test_hostile_names_are_text_in_markdown(opened):
    text = markdown.render(report.build(opened(hostile_tables())))
    assert "\x1b" not in text
    # In a span of code nothing has a meaning.
    prose = re.sub(r"`[^`]*`", "", text)
    assert "<img" not in prose and "&lt;img" in prose
    assert "@all" not in prose and "@\u2060all" in prose and "#\u20601" in prose
    assert "![a]" not in prose and "!\\[a" in prose
    rows = [row for row in text.splitlines() if row.startswith("| 1 |")]
    assert len(re.findall(r"(?<!\\)\|", rows[0])) == 7


def test_escapes_are_bounded():
    assert len(for_html("x" * 100_000)) == 401
    assert for_html("a\x00b") == "a\\u{0}b"
    assert for_markdown("plain_name at lock.c:107") == "plain_name at lock.c:107"
    assert for_code("a`b|c") == "`a'b\\|c`"


def test_colours_are_those_of_the_other_pages():
    def colours(text):
        return {theme: re.findall(r"--[\w-]+: #\w+", body) for theme, body in re.findall(r"(:root[^{]*)\{([^}]*)\}", text)}

    theirs = colours((ROOT / "crates/report/assets/colours.css").read_text())
    ours = colours(page.STYLE)
    assert len(ours) == 3
    assert all(theirs[theme] == found for theme, found in ours.items())


def test_families_are_those_of_the_other_reports():
    source = (ROOT / "crates/report/src/text/group.rs").read_text()
    groups = re.findall(r'class: "([^"]+)",\s*name: "([^"]+)",.*?prefixes: &\[(.*?)\]', source, re.DOTALL)
    theirs = [
        (prefix, style, name) for style, name, prefixes in groups for prefix in re.findall(r'"([^"]*)"', prefixes)
    ]
    assert theirs == list(FAMILIES)
    assert family("user.slower.other") == ("slower", "user, slower")


def test_a_report_without_stories_says_so(opened):
    found = report.build(opened(capture("a")))
    assert "No story was found" in page.render(found)
    assert markdown.render(found)


def test_the_time_line_is_drawn(opened):
    one = capture("c", stories=[("s", 500)])
    one["segments"] = [
        {"capture": "c", "segment": 0, "duration_ns": 900, "cause": "user.expected"},
        {"capture": "c", "segment": 1, "offset_ns": 900, "duration_ns": 600, "cause": "offcpu.lock", "who": "auditor"},
    ]
    text = page.render(report.build(opened(one)))
    assert '<rect x="600.00" y="0" width="400.00" height="10" class="bar wait"><title>offcpu.lock for 600 ns: auditor</title>' in text
    assert "off-CPU, waiting 600 ns 40 %" in text
    assert "2 segments" in text
