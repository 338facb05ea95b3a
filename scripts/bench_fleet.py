"""Measures a fleet's report against DuckDB's time for one full scan of the same tables.

    crates/fleet/python/check --run scripts/bench_fleet.py TABLES [--runs 3] [--most RATIO]

A full scan reads each column of each row once (the hash of all columns, so that none is left out). Output: the two medians and their
ratio on stdout. Exit code 1 if the ratio is above `--most`. `scripts/fleet-simulate` writes the tables.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "crates/fleet/python"))
from tailtrace_fleet import page, report
from tailtrace_fleet.schema import TABLES
from tailtrace_fleet.tables import open_tables


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tables", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most", type=float)
    options = parser.parse_args()
    # In turn, so that what else the machine does meets both.
    pairs = [(took(scan, options.tables), took(render, options.tables)) for _ in range(options.runs)]
    scanned, rendered = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = rendered / scanned
    print(f"full scan {scanned:.2f} s, report with its page {rendered:.2f} s, ratio {ratio:.1f}")
    if options.most and ratio > options.most:
        sys.exit(f"the ratio is above {options.most}")


def took(work, tables):
    """Seconds of wall time."""
    begin = time.perf_counter()
    work(tables)
    return time.perf_counter() - begin


def scan(tables):
    """Reads everything."""
    connection = open_tables(tables)
    for table in TABLES:
        connection.execute(f"SELECT bit_xor(hash(t)) FROM {table} AS t").fetchall()


def render(tables):
    """The report and its page."""
    page.render(report.build(open_tables(tables)))


if __name__ == "__main__":
    main()
