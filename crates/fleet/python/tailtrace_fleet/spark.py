"""The tables of a fleet on Apache Spark: in batches and as a stream, by the same functions.

`files` names the bundles of a bucket, `explained` runs tailtrace on each within its limits, `store` writes what came of it. Listing, retries,
checkpoints and scheduling are Spark's. The same capture delivered twice, in one batch or in two, gives its rows once.
"""

import json
import uuid
from dataclasses import dataclass
from functools import partial, reduce

from pyspark.sql import functions as f
from pyspark.sql.types import (
    BinaryType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tailtrace_fleet import schema
from tailtrace_fleet.bundle import Bundle, Limits, rows_of
from tailtrace_fleet.commit import ORDER, PLACES, Store
from tailtrace_fleet.schema import PARTITIONS, TABLES

SPARK_TYPES = {"string": StringType(), "int64": LongType(), "double": DoubleType()}
FILES = StructType(
    [
        StructField("path", StringType()),
        StructField("modificationTime", TimestampType()),
        StructField("length", LongType()),
        StructField("content", BinaryType()),
    ]
)
# What is read of each file.
READ = ("path", "length", "content")
# A row of any table, as JSON, with what decides where it goes.
ROWS = "uri string, capture string, day string, service string, table string, row string"
# Bundles that lie in memory at a time, for each task: Arrow takes ten thousand rows to a batch otherwise.
BUNDLES_AT_ONCE = 4
USUAL = Limits()


def session(builder):
    """A session from `builder`, with what reading bundles needs."""
    spark = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", BUNDLES_AT_ONCE).getOrCreate()
    # Also where the session was there already.
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", BUNDLES_AT_ONCE)
    # Days and services are text, also those that look like numbers.
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    return spark


@dataclass(frozen=True)
class Source:
    """Where bundles lie: folders at any depth, names of files, and how many a stream takes at a time."""

    paths: list[str]
    pattern: str = "*.tar.zst"
    files_at_once: int = 1000


def files(reader, source, limits):
    """The bundles of `source`. `reader` is `spark.read` or `spark.readStream`.

    The content of those above the limit is never fetched: Spark's reader of whole files applies the condition on the length.
    """

    def below(path):
        found = reader.format("binaryFile").schema(FILES).option("pathGlobFilter", source.pattern)
        return found.option("recursiveFileLookup", "true").load(path)

    most = limits.bundle_bytes
    parts = []
    for path in source.paths:
        parts.append(below(path).filter(f.col("length") <= most).select("path", "length", "content"))
        large = below(path).filter(f.col("length") > most).select("path", "length")
        parts.append(large.withColumn("content", f.lit(None).cast(BinaryType())))
    return reduce(lambda left, right: left.unionByName(right), parts)


def explained(bundles, limits):
    """The rows of all tables of these bundles; the same for a batch and for a stream."""
    return bundles.mapInArrow(partial(of_batches, limits=limits), ROWS)


def of_batches(batches, limits):
    """Runs on the executors: one bundle after another, its rows as one batch."""
    import pyarrow as arrow

    names = ("uri", "capture", "day", "service", "table", "row")
    columns = arrow.schema([(name, arrow.string()) for name in names])
    for batch in batches:
        for number in range(batch.num_rows):
            uri, length, content = (batch.column(name)[number].as_py() for name in READ)
            rows = [
                {"uri": uri, "table": table, "row": json.dumps(row)} | {key: row[key] for key in ("capture", *PARTITIONS)}
                for table, row in rows_of(Bundle(uri, length, content), limits)
            ]
            yield arrow.RecordBatch.from_pylist(rows, columns)


def store(rows, _batch, root):
    """Adds the rows of a batch to the tables at `root`, but for captures that are there; what a stream calls for each batch."""
    spark = rows.sparkSession
    place = Store(spark, root)
    place.recover()
    name = uuid.uuid4().hex
    # Written once and read for each table: if an executor is lost, no bundle is explained anew with, say, another timeout, after some of
    # its rows are in place.
    rows.write.parquet(place.staged(name))
    new = of_new_captures(spark, spark.read.schema(ROWS).parquet(place.staged(name)), place)
    found = {row[0] for row in new.select("table").distinct().collect()}
    for table in (table for table in ORDER if table in found):
        written = of_table(new, table).repartition(*PLACES).write.partitionBy(*PLACES)
        written.option("compression", "zstd").parquet(place.staged(name, table))
    place.mark(name)
    place.finish(name)


def of_new_captures(spark, rows, place):
    """The rows of captures that no table holds yet; of a capture delivered twice, those of the first uri."""
    first = rows.filter(f.col("table") == "captures").groupBy("capture").agg(f.min("uri").alias("uri"))
    if place.files.exists(place.path("table=captures")):
        held = table_of(spark, place.root, "captures").select("capture").distinct()
        first = first.join(held, "capture", "left_anti")
    return rows.join(first, ["capture", "uri"])


def of_table(rows, table):
    """The rows of one table, with the columns of its files and those that decide where they lie."""
    fields = [StructField(column.name, SPARK_TYPES[column.type]) for column in schema.FILES[table]]
    opened = rows.filter(f.col("table") == table)
    places = [f.col(name).alias(place) for name, place in zip(PARTITIONS, PLACES, strict=True)]
    return opened.select(f.from_json("row", StructType(fields)).alias("of"), *places).select("of.*", *PLACES)


def ingest(spark, source, root, limits=USUAL):
    """Reads all bundles of `source` once."""
    store(explained(files(spark.read, source, limits), limits), None, root)


def follow(spark, source, root, checkpoint, limits=USUAL, seconds=None):
    """Reads bundles as they come; the running query. Every `seconds`, or once what is there where that is None."""
    Store(spark, root).recover()
    reader = spark.readStream.option("maxFilesPerTrigger", source.files_at_once)
    rows = explained(files(reader, source, limits), limits)
    trigger = {"availableNow": True} if seconds is None else {"processingTime": f"{seconds} seconds"}
    writer = rows.writeStream.foreachBatch(partial(store, root=root)).option("checkpointLocation", checkpoint)
    return writer.trigger(**trigger).start()


def table_of(spark, root, table):
    """One table as a data frame, with the columns and types of the schema; empty where no file is there."""
    columns = StructType([StructField(column.name, SPARK_TYPES[column.type]) for column in TABLES[table]])
    place = Store(spark, root)
    if not place.files.exists(place.path(f"table={table}")):
        return spark.createDataFrame([], columns)
    return spark.read.schema(columns).parquet(f"{place.root}/table={table}")


def views(spark, root):
    """Makes the views over which the files of `sql` run."""
    for table in TABLES:
        table_of(spark, root, table).createOrReplaceTempView(table)
