"""Brings the tables of a batch to their place so that a crash at any moment loses nothing and doubles nothing.

A batch is first written below `_spark/NAME`. Once it is complete a mark says so, and only then its files are renamed into the tables,
`captures` last, to one name for all tables: `tailtrace fleet` takes rows for left over whose part has no file in `captures`. Whoever starts next finishes a batch that has the mark, and deletes one that has none: its bundles are read again. Only one
writer may work on a folder at a time, as with Spark's own checkpoints. Works on what Hadoop's file systems reach.
"""

from tailtrace_fleet.schema import PARTITIONS, TABLES

STAGING = "_spark"
COMPLETE = "_COMPLETE"
# Spark leaves out of a file what it makes folders of, but the files of `captures` hold their day and service: so it makes folders
# of copies, and a file is renamed into the folder with the right name.
PLACES = tuple(f"place_{name}" for name in PARTITIONS)
# Other tables' rows are found through their capture, so a batch shows itself with its last renames.
ORDER = sorted(TABLES, key=lambda table: table == "captures")


class Store:
    """A folder of tables on any file system of Hadoop."""

    def __init__(self, spark, root):
        self.path_of = spark._jvm.org.apache.hadoop.fs.Path
        self.root = str(root).rstrip("/")
        self.files = self.path_of(self.root).getFileSystem(spark._jsc.hadoopConfiguration())

    def path(self, *parts):
        """A path below the root."""
        return self.path_of("/".join((self.root, *parts)))

    def staged(self, name, table=None):
        """Where a table of a batch is written, or its rows of all tables; as a string for Spark."""
        return "/".join((self.root, STAGING, name, f"table={table}" if table else "rows"))

    def mark(self, name):
        """Says that the batch is complete."""
        self.files.create(self.path(STAGING, name, COMPLETE), True).close()

    def recover(self):
        """Finishes or deletes what an earlier run left."""
        if self.files.exists(self.path(STAGING)):
            for left in self.files.listStatus(self.path(STAGING)):
                name = left.getPath().getName()
                if self.files.exists(self.path(STAGING, name, COMPLETE)):
                    self.finish(name)
                else:
                    self.files.delete(left.getPath(), True)

    def finish(self, name):
        """Renames the files of a complete batch; those that are in place already are no longer in the staging folder."""
        for table in ORDER:
            if self.files.exists(self.path(STAGING, name, f"table={table}")):
                self.move(name, table)
        self.files.delete(self.path(STAGING, name), True)

    def move(self, name, table):
        """Renames the files of one table of a batch, one for each day and service, to the name that all tables of the batch share."""
        found = self.files.listFiles(self.path(STAGING, name, f"table={table}"), True)
        sources = []
        while found.hasNext():
            sources.append(found.next().getPath())
        for source in sources:
            if source.getName().endswith(".parquet"):
                # Split at the path that Hadoop shows: it may write the root in another way than it was given.
                folder = source.getParent().toString().split(f"/{STAGING}/{name}/", 1)[1].replace("/place_", "/")
                target = self.path(folder, f"part-{name}.parquet")
                self.files.mkdirs(target.getParent())
                if not self.files.rename(source, target):
                    raise OSError(f"cannot rename {source} to {target}")
