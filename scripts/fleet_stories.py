"""The fleet of `fleet-simulate`: machines, releases, and the stories with their rates, most costly first."""

import hashlib
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
    """One story. `excess`: median of what it adds to a request, ns. The rest says where its rate differs."""

    cause: str
    what: str
    who: str | None
    object: str | None
    function: str
    file: str
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

    @property
    def hash(self):
        """What the tables have: 16 hex digits."""
        return hashlib.sha256(f"{self.cause}/{self.function}/{self.what}".encode()).hexdigest()[:16]

    @property
    def off_cpu(self):
        """Whether the thread was switched out."""
        return self.cause.startswith("offcpu.")

    @property
    def headline(self):
        """The outlier's sentence, without its lengths."""
        return f"{self.what} {self.who}" if self.who else self.what


STORIES = [
    Story("offcpu.lock", "waited for mutex stock_lock in reserve() stock.c:88", "held by auditor, which slept in keep() audit.c:38",
          "mutex stock_lock", "reserve", "shop", 1_900_000),
    Story("offcpu.block-io", "waited for nvme0n1 in load_page() pager.c:212", None, "nvme0n1", "load_page", "shop", 4_100_000, disk=True),
    Story("offcpu.preempted", "preempted in serve() server.c:40", "by backup, which ran compress()", None, "serve", "shop", 900_000, busy=True),
    Story("user.slower.other", "ran slower in gather() table.c:310", None, None, "gather", "libtable.so.3", 800_000,
          microcode=BAD_MICROCODE),
    Story("user.extra-work", "ran more of parse_coupons() cart.c:77", None, None, "parse_coupons", "shop", 700_000, since="2026.43"),
    Story("runtime.gc.pause", "paused for the garbage collector in serve() server.c:40", None, None, "serve", "shop", 1_300_000),
    Story("offcpu.socket", "waited for the socket to 5432 in query() db.c:19", None, "socket to 5432", "query", "libpq.so.5", 2_600_000),
    Story("kernel.page-fault.major", "read a page of index.bin in lookup() index.c:131", None, "index.bin", "lookup", "shop", 1_700_000,
          service="search"),
    Story("kernel.irq", "interrupted in serve() server.c:40", "by mlx5", None, "serve", "shop", 120_000),
    Story("user.spin", "spun in wait_for_slot() ring.c:54", "while flusher ran", None, "wait_for_slot", "shop", 450_000),
    Story("power.idle-exit", "woke a sleeping CPU in serve() server.c:40", None, None, "serve", "shop", 140_000),
    Story("queue.behind", "queued behind a request in dispatch() pool.c:9", "behind request 7", None, "dispatch", "shop", 3_000_000),
]


def multiplier(place, service, release, microcode, busy, bad_disk):
    """How much more frequent than usual the story at `place` is in such captures."""
    story = STORIES[place]
    if (story.since and release < story.since) or (story.service and service != story.service):
        return 0.0
    more = 6.0 if story.microcode and microcode == story.microcode else 1.0
    more *= 10.0 if story.busy and busy else 1.0
    return more * (25.0 if story.disk and bad_disk else 1.0)
