"""Measures what Apache Spark adds to each bundle: CPU time of the whole job, less that of tailtrace on the same bundles.

    crates/fleet/python/check --run scripts/bench_fleet_spark.py BUNDLES PROGRAM [--master local[2]]

Input: a folder of bundles, each different, and tailtrace. Output: the seconds and the difference for each bundle on stdout. CPU time
is that of all processes of the job (Java, its Python workers, tailtrace) from when Spark is up to its last rename, so what else the
machine does hardly matters.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "crates/fleet/python"))
from process_tree import of_tree
from pyspark.sql import SparkSession
from tailtrace_fleet import spark
from tailtrace_fleet.bundle import Limits


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bundles", type=Path)
    parser.add_argument("program")
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args()
    bundles = sorted(options.bundles.rglob("*.tar.zst"))
    alone = of_program(bundles, options.program)
    cpu, wall = of_spark(options)
    each = (cpu - alone) / len(bundles)
    size = sum(bundle.stat().st_size for bundle in bundles) / len(bundles)
    print(
        f"{len(bundles)} bundles of {size / 1e6:.2f} MB: tailtrace alone {alone:.1f} s of CPU, Spark with it {cpu:.1f} s in {wall:.1f} s, "
        f"{1000 * each:.1f} ms for each bundle"
    )


def of_program(bundles, program):
    """CPU seconds of the program on all bundles, one after another."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for bundle in bundles:
        subprocess.run([program, "fleet", "rows", bundle], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_spark(options):
    """CPU seconds of the job, and its wall time."""
    builder = SparkSession.builder.master(options.master).config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    session = spark.session(builder)
    with tempfile.TemporaryDirectory() as folder:
        before, begin = of_tree(os.getpid())[0], time.monotonic()
        spark.ingest(session, spark.Source([str(options.bundles)]), folder, Limits(program=options.program))
        used = of_tree(os.getpid())[0] - before, time.monotonic() - begin
    session.stop()
    return used


if __name__ == "__main__":
    main()
