"""Runs the files of `sql` in DuckDB. Their text is the same that runs in Spark SQL: see each file's head for what it counts."""

from pathlib import Path

FOLDER = Path(__file__).parent / "sql"

# Durations of all intervals by service: the sketches of the captures, merged by adding counts. Reading JSON is spelled differently in
# Spark SQL, so this one is DuckDB's alone. A bin with index i holds durations above gamma^(i-1) and up to gamma^i ns.
SKETCHES = """
WITH read AS (
    SELECT cp.service, cp.weight, TRY_CAST(p.sketch ->> '$.gamma' AS DOUBLE) AS gamma,
           TRY_CAST(p.sketch ->> '$.zeros' AS DOUBLE) AS zeros, from_json(p.sketch -> '$.bins', '[["BIGINT"]]') AS bins
    FROM captures AS cp
    JOIN populations AS p ON p.capture = cp.capture AND p.label = ''
    WHERE json_valid(p.sketch)
), opened AS (
    SELECT service, gamma, weight, unnest(bins) AS bin FROM read WHERE gamma > 1
    UNION ALL SELECT service, gamma, weight * zeros, [NULL, 1] FROM read WHERE zeros > 0 AND gamma > 1
)
SELECT service, gamma, bin[1] AS bin, sum(weight * bin[2]) AS count
FROM opened WHERE bin[2] > 0 GROUP BY ALL ORDER BY service, gamma, bin NULLS FIRST
"""

# The time line of one explained outlier.
LINE = """
SELECT offset_ns, duration_ns, cpu, cause, certainty, "function", object, who
FROM segments WHERE capture = ? AND "interval" = ? ORDER BY segment LIMIT 2000
"""


def names():
    """The names of all files, without `.sql`."""
    return sorted(path.stem for path in FOLDER.glob("*.sql"))


def read(name):
    """The text of one file."""
    return (FOLDER / f"{name}.sql").read_text()


def run(connection, name):
    """The rows of one file's query, as dictionaries."""
    return rows(connection.execute(read(name)))


def rows(result):
    """All rows of a result, as dictionaries."""
    columns = [column[0] for column in result.description]
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]
