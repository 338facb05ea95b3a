"""A process and all below it: who they are, their CPU time and memory, from `/proc`."""

import os
import threading
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def processes():
    """The fields of `/proc/PID/stat` after the command, by process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
    return found


def lineages(root):
    """Each process at or below `root`, with its ancestors from itself up to `root`."""
    parents = {pid: int(fields[1]) for pid, fields in processes().items()}
    for pid in parents:
        line = [pid]
        while line[-1] not in (0, root):
            line.append(parents.get(line[-1], 0))
        if line[-1] == root:
            yield line


def of_tree(root):
    """CPU seconds, also of those that ended and were waited for, and resident bytes; what processes share counts for each."""
    cpu, memory = 0.0, 0
    found = processes()
    for pid, *_ in lineages(root):
        if pid in found:
            cpu += sum(map(int, found[pid][11:15])) / TICKS
            memory += int(found[pid][21]) * PAGE
    return cpu, memory


def command(pid):
    """The arguments of a process, joined by blanks; empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


class Watch:
    """While it is entered: the most memory and the CPU time of a tree, looked at five times a second."""

    def __init__(self, root):
        self.root, self.cpu, self.memory = root, 0.0, 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.ended.wait(0.2):
            cpu, memory = of_tree(self.root)
            self.cpu, self.memory = max(self.cpu, cpu), max(self.memory, memory)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
