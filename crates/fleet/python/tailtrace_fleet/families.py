"""Families of causes with the colour class and the name that every report of tailtrace gives them.

As the table in `crates/report/src/text/group.rs`; a test compares them.
"""

# Beginnings of dotted names, class of the style sheet, name. The first that fits counts.
FAMILIES = (
    ("user.expected", "expected", "user, as expected"),
    ("user.extra-work", "extra", "user, extra work"),
    ("user.slower", "slower", "user, slower"),
    ("user.", "spin", "user, spinning"),
    ("kernel.page-fault", "fault", "page fault"),
    ("kernel.irq", "interrupt", "interrupt"),
    ("kernel.timer", "interrupt", "interrupt"),
    ("kernel.ipi", "interrupt", "interrupt"),
    ("kernel.nmi", "interrupt", "interrupt"),
    ("kernel.softirq", "interrupt", "interrupt"),
    ("kernel.", "kernel", "kernel"),
    ("offcpu.preempted", "queued", "off-CPU, runnable"),
    ("offcpu.runnable", "queued", "off-CPU, runnable"),
    ("offcpu.", "wait", "off-CPU, waiting"),
    ("runtime.idle.", "wait", "off-CPU, waiting"),
    ("power.", "power", "power"),
    ("runtime.gc.", "collector", "garbage collection"),
    ("queue.", "queued", "queued behind another"),
    ("hardware.", "gap", "hardware gap"),
    ("trace.", "unknown", "trace lost or off"),
    ("", "unknown", "unknown"),
)


def family(cause):
    """Class and name for a cause's dotted name."""
    return next((style, name) for prefix, style, name in FAMILIES if cause.startswith(prefix))
