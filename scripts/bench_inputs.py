"""The inputs of scripts/bench: captures of any size, and windows in them.

A capture is repeated by tracegen with shifted times. What is known of the file format here is the header, the list of
feature sections and the list of AUXTRACE records (tools/perf/Documentation/perf.data-file-format.txt).
"""

import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

# Length of AUXTRACE records: `perf record -m ,16M` writes such of 8 MB; shorter ones where windows lie close together,
# for perf loses a window that begins in the AUXTRACE record in which the one before ended.
BUFFER = {"100M": "1M", "1G": "1M", "10G": "8M"}
WINDOW_NS = 100_000
AUXTRACE_FEATURE = 18
AUXTRACE_BYTES = 48


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


class Inputs:
    """The captures to measure with, made when first needed and kept."""

    def __init__(self, options, tracegen):
        self.tracegen, self.cache = tracegen, options.cache
        self.name = options.capture.name.removesuffix(".tar.zst")
        self.root = self.cache / self.name
        if not self.root.exists():
            subprocess.run(["tar", "--zstd", "-xf", options.capture.resolve(), "-C", self.cache], check=True)
        self.symfs = self.root / "symfs"
        self.sizes = ["100M"] if options.small else ["1G", "10G"]

    def repeated(self, size):
        """The capture repeated up to `size`, with the records that say which thread ran where."""
        plan = ["--size", size, "--sideband", "switches", "--buffer", BUFFER[size]]
        return self.make(f"{self.name}-{size}", self.root / "perf.data", plan)

    def whole_trace(self):
        """The capture `noise_only` repeated to some 130 MB, and its programs: work of all kinds, nothing planted."""
        root = self.cache / "noise_only"
        if not root.exists():
            archive = Path(__file__).resolve().parent.parent / "fixtures/captures/noise_only.tar.zst"
            subprocess.run(["tar", "--zstd", "-xf", archive, "-C", self.cache], check=True)
        plan = ["--size", "130M", "--sideband", "switches"]
        return self.make("noise_only-130M", root / "perf.data", plan), root / "symfs"

    def serving(self):
        """What scripts/bench_serving.py simulates, 5 and 10 times (1 and 2 with --small), each with its intervals beside it."""
        root = self.cache / "serving"
        if not (root / "perf.data").exists():
            say(f"making {root}")
            here = Path(__file__).resolve().parent
            root.mkdir(exist_ok=True)
            for code in ["linux.code", "serving.code"]:
                shutil.copy(here.parent / "fixtures/scenarios" / code, root)
            scenario = root / "serving.scenario"
            with open(scenario, "w") as file:
                subprocess.run([sys.executable, here / "bench_serving.py"], check=True, stdout=file)
            subprocess.run([self.tracegen, "scenario", scenario, "-o", root], check=True, stdout=subprocess.DEVNULL)
        times = (1, 2) if self.sizes == ["100M"] else (5, 10)
        return [self.repeated_serving(root, number) for number in times]

    def serving_symfs(self):
        return self.cache / "serving/symfs"

    def repeated_serving(self, root, times):
        output = self.make(f"serving-{times}", root / "perf.data", ["-n", str(times)])
        plan = json.loads((self.cache / f"{output.name}.json").read_text())
        head, columns, *rows = (root / "intervals.csv").read_text().splitlines()
        fields = [row.split(",") for row in rows]
        with open(f"{output}.csv", "w") as file:
            print(head, columns, sep="\n", file=file)
            for turn in range(times):
                shift = turn * plan["ticks"]
                for number, label, start, stop, *rest in fields:
                    number = turn * len(rows) + int(number)
                    print(number, label, int(start) + shift, int(stop) + shift, *rest, sep=",", file=file)
        return output

    def few_bytes(self):
        """The largest capture with all of its records, but only the first 10 MB of its AUX data."""
        whole = self.repeated(self.sizes[-1])
        output = self.cache / f"{whole.name}-few"
        if not output.exists():
            say(f"making {output}")
            without_aux(data_file(whole), output, keep=10_000_000)
        return output

    def make(self, name, source, plan):
        output = self.cache / name
        done = self.cache / f"{name}.json"
        if not done.exists():
            say(f"making {output}")
            words = subprocess.run([self.tracegen, "repeat", source, *plan, "-o", output], check=True,
                                   stdout=subprocess.PIPE, text=True).stdout
            times, _, ticks, _ = re.findall(r"\d+", words)
            with open(data_file(output), "rb") as file:
                os.fsync(file.fileno())
            done.write_text(json.dumps({"times": int(times), "ticks": int(ticks)}))
        return output

    def interval_file(self, size, rows):
        """An interval file for `repeated(size)`: all intervals of evenly spread repetitions, up to about `rows`."""
        output = self.cache / f"{self.name}-{size}-{rows}.csv"
        if not output.exists():
            plan = json.loads((self.cache / f"{self.repeated(size).name}.json").read_text())
            header, *lines = (self.root / "intervals.csv").read_text().splitlines()
            columns = [line.split(",") for line in lines]
            turns = min(plan["times"], -(-rows // len(lines)))
            with open(output, "w") as file:
                print(header, file=file)
                for turn in range(turns):
                    shift = turn * plan["times"] // turns * plan["ticks"]
                    for label, start, stop, *rest in columns:
                        print(label, int(start) + shift, int(stop) + shift, *rest, sep=",", file=file)
        return output


def without_aux(source, output, keep):
    """Copies a perf.data file without the AUXTRACE records after the first `keep` bytes of AUX data."""
    with open(source, "rb") as file, open(output, "wb") as copy:
        header = bytearray(file.read(104))
        start, length = struct.unpack_from("<QQ", header, 40)
        features = read_features(file, header)
        records, kept, at = [], 0, 0
        for payload, size in aux_ranges(source):
            copy_range(file, copy, at, payload - AUXTRACE_BYTES)
            at = payload + size
            kept += size
            if kept <= keep:
                records.append(copy.tell())
                copy_range(file, copy, payload - AUXTRACE_BYTES, at)
        copy_range(file, copy, at, start + length)
        data_end = copy.tell()
        entries = (struct.pack("<QQ", record, AUXTRACE_BYTES) for record in records)
        features[AUXTRACE_FEATURE] = struct.pack("<Q", len(records)) + b"".join(entries)
        place = data_end + 16 * len(features)
        for feature in features.values():
            copy.write(struct.pack("<QQ", place, len(feature)))
            place += len(feature)
        copy.write(b"".join(features.values()))
        struct.pack_into("<Q", header, 48, data_end - start)
        copy.seek(0)
        copy.write(header)


def read_features(file, header):
    """The feature sections by number."""
    numbers = [bit for bit in range(256) if header[72 + bit // 8] >> bit % 8 & 1]
    file.seek(sum(struct.unpack_from("<QQ", header, 40)))
    places = [struct.unpack("<QQ", file.read(16)) for _ in numbers]
    return {number: os.pread(file.fileno(), size, offset) for number, (offset, size) in zip(numbers, places)}


def copy_range(file, copy, start, end):
    file.seek(start)
    while start < end:
        chunk = file.read(min(end - start, 1 << 20))
        copy.write(chunk)
        start += len(chunk)


def data_file(capture):
    return capture / "data" if capture.is_dir() else capture


def aux_ranges(path):
    """Where AUX payloads lie in the file, by its own list of AUXTRACE records."""
    with open(path, "rb") as file:
        section = read_features(file, file.read(104))[AUXTRACE_FEATURE]
        for record in struct.unpack(f"<{len(section) // 8}Q", section)[1::2]:
            file.seek(record + 8)
            yield record + AUXTRACE_BYTES, struct.unpack("<Q", file.read(8))[0]


def random_windows(inputs, size, number, seed, apart, length=WINDOW_NS):
    """Windows without overlap, in order, as perf's --time takes them: `SECONDS,SECONDS SECONDS,SECONDS …`.

    Each begins with a random interval of the capture in a random repetition: idle time has no instructions to decode.
    They lie `apart` repetitions apart, or further.
    """
    plan = json.loads((inputs.cache / f"{inputs.repeated(size).name}.json").read_text())
    to_ns = time_conversion(inputs.root / "perf.data")
    tsc = [int(line.split(",")[1]) for line in (inputs.root / "intervals.csv").read_text().splitlines()[1:]]
    choice = random.Random(seed)
    turns = sorted(choice.sample(range(0, plan["times"], apart), min(number, plan["times"] // apart)))
    starts = [to_ns(choice.choice(tsc) + turn * plan["ticks"]) for turn in turns]
    return " ".join(f"{seconds(start)},{seconds(start + length)}" for start in starts)


def buffers(inputs, size):
    """How many repetitions fill an AUXTRACE record, and a bit more."""
    aux = sum(length for _, length in aux_ranges(data_file(inputs.root / "perf.data")))
    return (int(BUFFER[size][:-1]) << 20) // aux + 1


def time_conversion(capture):
    """From TSC to perf's nanoseconds, as AUXTRACE_INFO says."""
    command = ["perf", "script", "-D", "-i", capture]
    dump = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    numbers = []
    for line in dump.stdout:
        if found := re.search(r"Time (?:Shift|Mu.*plier|Zero)\s+(\d+)", line):
            numbers.append(int(found[1]))
        if len(numbers) == 3:
            dump.kill()
            shift, multiplier, zero = numbers
            return lambda tsc: (zero + (tsc * multiplier >> shift)) % 2**64
    sys.exit(f"bench: perf finds no time conversion in {capture}")


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"
