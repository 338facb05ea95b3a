"""The fleet of `fleet-simulate`: machines, releases, and the stories with their rates, most costly first."""

from dataclasses import dataclass

SERVICES = ["billing", "checkout", "search"]
RELEASES = ["2026.40", "2026.41", "2026.42", "2026.43", "2026.44"]
KERNELS = ["6.1.0-28-amd64", "6.8.0-51-generic", "6.12.6"]
# CPU model: its usual microcode, a rare one, and the share of hosts that have the rare one.
MODELS = {
    "Intel(R) Xeon(R) Gold 6348": ("0xd0003e7", "0xd0003f5", 0.3),
    "Intel(R) Xeon(R) Platinum 8480+": ("0x2b000590", "0x2b000603", 0.3),
    "Intel(R) Xeon(R) 6780E": ("0x3000341", "0x3000362", 0.3),
}
BAD_MICROCODE = "0x2b000603"


@dataclass(frozen=True)
class Story:
    """One story: the first cause of the slow interval of `scenario`. `excess`: median of what it adds to a request, ns. The rest says where its rate differs."""

    scenario: str
    excess: float
    # From which release on it exists; before that, its rate is nothing.
    since: str | None = None
    # Six times more frequent with this microcode.
    microcode: str | None = None
    # Only in this service.
    service: str | None = None
    # Ten times more frequent on busy hosts, whose captures have more weight.
    busy: bool = False
    # Twenty-five times more frequent on hosts with a bad disk.
    disk: bool = False
    # Its requests have five times as many items as usual.
    items: bool = False
    # Four fifths of its requests find a cold cache, of the others one fifth.
    cold: bool = False


STORIES = [
    # Waits for a futex that another thread holds.
    Story("lock_wait-waker", 1_900_000),
    Story("block_io-named_disk", 4_100_000, disk=True),
    # Preempted by another thread, then moved to another CPU.
    Story("migration", 900_000, busy=True),
    # The same code, slower.
    Story("front_end-back_end", 800_000, microcode=BAD_MICROCODE),
    Story("extra_work", 700_000, since="2026.43", items=True),
    Story("gc_jvm", 1_300_000),
    Story("socket_net_rx", 2_600_000, cold=True),
    Story("page_fault", 1_700_000, service="search"),
    Story("irq_device", 120_000),
    Story("spin_wait", 450_000),
    # Leaves an idle state.
    Story("idle_cpu_idle-waking", 800_000),
    Story("syscall_long", 3_000_000),
]


def multiplier(place, service, release, microcode, busy, bad_disk):
    """How much more frequent than usual the story at `place` is in such captures."""
    story = STORIES[place]
    if (story.since and release < story.since) or (story.service and service != story.service):
        return 0.0
    more = 6.0 if story.microcode and microcode == story.microcode else 1.0
    more *= 10.0 if story.busy and busy else 1.0
    return more * (25.0 if story.disk and bad_disk else 1.0)
