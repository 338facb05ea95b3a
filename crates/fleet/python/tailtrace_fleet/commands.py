"""The command `tailtrace-fleet`. Exit codes: 0, or 2 where there is nothing to report on."""

import argparse
import json
import os
import sys
from pathlib import Path

from tailtrace_fleet import difference, difference_page, example, markdown, page, report
from tailtrace_fleet.bundle import Failed, Limits
from tailtrace_fleet.escape import plain
from tailtrace_fleet.tables import NoTables, open_tables

TABLES = "the folder that `tailtrace fleet ingest -o` wrote"


def main(arguments=None):
    """Runs the command."""
    given, options_of_explain = parted(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    options.options = options_of_explain
    try:
        options.run(options)
    except (NoTables, difference.EmptySide, example.NotFound, Failed, FileNotFoundError) as error:
        sys.exit(print(f"tailtrace-fleet: {plain(str(error))}", file=sys.stderr) or 2)


def parted(given):
    """The arguments up to `--`, and those after it, which are of `tailtrace explain`: argparse does not take them where options come between."""
    place = given.index("--") if "--" in given and given[:1] == ["explain"] else len(given)
    return given[:place], given[place + 1 :]


def parser():
    """The arguments."""
    whole = argparse.ArgumentParser(prog="tailtrace-fleet", description="Which stories make requests slow across a fleet.")
    commands = whole.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("report", help="stories by cost, what is new, which machines differ")
    one.add_argument("--since", metavar="DAY", help="new is what came on this day or later: YYYY-MM-DD")
    one.set_defaults(run=run_report)
    two = commands.add_parser("diff", help="two weeks or releases against one another")
    side = "a release, a day YYYY-MM-DD, or YYYY-MM-DD..YYYY-MM-DD"
    two.add_argument("--before", required=True, metavar="SIDE", help=side)
    two.add_argument("--after", required=True, metavar="SIDE", help="the same")
    two.set_defaults(run=run_diff)
    for command in (one, two):
        command.add_argument("tables", metavar="TABLES", help=TABLES)
        command.add_argument("--service", help="only this one")
        command.add_argument("--top", type=int, default=20, metavar="N", help="stories in detail (default 20)")
        command.add_argument("--html", type=Path, metavar="FILE", help="write a page that needs nothing else")
        command.add_argument("--format", choices=("json", "markdown"), help="write to standard output; markdown without --html")
    add_explain(commands.add_parser("explain", help="the report on one slow interval: what it lies in is fetched and explained"))
    add_example(one, Limits().seconds)
    add_spark(commands.add_parser("spark", help="the tables of bundles, made on Apache Spark: as `tailtrace fleet ingest`, on a cluster"))
    return whole


def add_explain(command):
    """The arguments of `tailtrace-fleet explain`."""
    command.set_defaults(run=run_explain)
    command.add_argument("tables", metavar="TABLES", help=TABLES)
    command.add_argument("name", metavar="STORY|CAPTURE", help="the best example of a story, or the slowest interval of a capture; the first digits do")
    command.add_argument("--interval", type=int, metavar="N", help="this interval of the capture")
    command.add_argument("--whole", action="store_true", help="from the whole capture of which the bundle is a part: the tag `whole` says where it lies")
    command.epilog = "After -- stand options of tailtrace explain."
    # A whole capture may be large.
    add_example(command, 3600)


def add_example(command, seconds):
    """The arguments that say how an example is fetched and explained."""
    usual = Limits()
    command.add_argument(
        "--fetch", metavar="COMMAND", help="the shell runs it for what is no path here: it writes what lies at $TAILTRACE_URI to $TAILTRACE_FILE"
    )
    command.add_argument("--seconds", type=int, default=seconds, help="time for each step (default %(default)s)")
    command.add_argument("--memory", type=int, default=usual.memory_bytes >> 20, metavar="MIB", help="memory to explain one (default %(default)s)")
    command.add_argument("--tailtrace", metavar="PROGRAM", help="its path (default: beside Python, or on the path)")


def add_spark(command):
    """The arguments of `tailtrace-fleet spark`."""
    usual = Limits()
    command.set_defaults(run=run_spark)
    command.add_argument("paths", nargs="+", metavar="PATH", help="folders of bundles: what Spark can read, as s3a://bucket/folder")
    command.add_argument("-o", "--output", required=True, metavar="TABLES", help="the folder of tables: rows are added")
    command.add_argument("--pattern", default="*.tar.zst", help="names of bundles (default %(default)s)")
    command.add_argument("--checkpoint", metavar="DIR", help="go on where the last run with this folder ended")
    command.add_argument("--every", type=int, metavar="SECONDS", help="with --checkpoint: go on as bundles come")
    command.add_argument("--master", help="the cluster, as local[4]; spark-submit names it otherwise")
    command.add_argument("--seconds", type=int, default=usual.seconds, help="time for one bundle (default %(default)s)")
    command.add_argument("--memory", type=int, default=usual.memory_bytes >> 20, metavar="MIB", help="memory for one (default %(default)s)")
    command.add_argument("--size", type=int, default=usual.bundle_bytes >> 20, metavar="MIB", help="largest bundle (default %(default)s)")
    command.add_argument("--tag", action="append", default=[], metavar="NAME=VALUE", help="a tag for all bundles, as service=checkout")
    command.add_argument("--tailtrace", metavar="PROGRAM", help="its path on the executors (default: beside Python, or on the path)")


def run_spark(options):
    """`tailtrace-fleet spark`."""
    try:
        from pyspark.sql import SparkSession

        from tailtrace_fleet import spark
    except ImportError as error:
        sys.exit(f"tailtrace-fleet: {error}: pip install 'tailtrace-fleet[spark]'")
    limits = Limits(options.seconds, options.memory << 20, options.size << 20, program=options.tailtrace, tags=tuple(options.tag))
    builder = SparkSession.builder.appName("tailtrace-fleet")
    if options.master:
        builder = builder.master(options.master)
        if options.master.startswith("local"):
            # Else its workers are the first python3 on the path, which need not have these packages.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = spark.session(builder)
    if options.checkpoint:
        source = spark.Source(options.paths, options.pattern)
        spark.follow(session, source, options.output, options.checkpoint, limits, options.every).awaitTermination()
    else:
        spark.ingest(session, spark.Source(options.paths, options.pattern), options.output, limits)
    session.stop()


def run_report(options):
    """`tailtrace-fleet report`."""
    found = report.build(open_tables(options.tables, options.service), options.top, options.since)
    # Markdown has no room for them.
    if options.html or options.format == "json":
        for story in found["stories"]:
            add_report(story["example"], options)
    write(options, found, page.render, markdown.render)


def add_report(best, options):
    """To a story's best example its report, or why there is none."""
    if best is None:
        return
    best |= {"report": None, "no_report": None}
    try:
        best["report"] = example.explained(best, limits_of(options), options.fetch)
    except (Failed, FileNotFoundError) as error:
        best["no_report"] = str(error)


def run_explain(options):
    """`tailtrace-fleet explain`."""
    row = example.find(open_tables(options.tables), options.name, options.interval)
    print(f"{plain(row['whole'] or '' if options.whole else row['uri'])}, interval {row['interval']}", file=sys.stderr)
    print(example.explained(row, limits_of(options), options.fetch, options.whole, options.options), end="")


def limits_of(options):
    """What explaining one example may take."""
    return Limits(options.seconds, options.memory << 20, program=options.tailtrace)


def run_diff(options):
    """`tailtrace-fleet diff`."""
    found = difference.build(open_tables(options.tables, options.service), options.before, options.after)
    write(
        options,
        found,
        lambda value: difference_page.html(value, options.top),
        lambda value: difference_page.as_markdown(value, options.top),
    )


def write(options, value, as_html, as_markdown):
    """The page to its file, whole or not at all; JSON or Markdown to standard output."""
    if options.html:
        draft = options.html.with_name(f".{options.html.name}.{os.getpid()}")
        draft.write_text(as_html(value), encoding="utf-8")
        draft.replace(options.html)
    if options.format == "json":
        print(json.dumps(value, indent=1))
    elif options.format == "markdown" or not options.html:
        print(as_markdown(value), end="")


if __name__ == "__main__":
    main()
