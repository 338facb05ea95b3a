-- What the tail consists of, by percentile: for each service, the stories of the slow intervals of each band.
--
-- An interval's percentile is the weighted share of all intervals of its service that took longer; the edges of bands are accurate to
-- three digits of a duration. Only outliers have rows, and all other intervals count as faster than any of them; where a rule picks
-- outliers by another measure than length, that is a simplification. The excess is the whole one over the typical intervals,
-- counted for the story of the foremost cause.
WITH totals AS (
    SELECT cp.service, sum(cp.weight * p.count) AS intervals
    FROM captures AS cp
    JOIN populations AS p ON p.capture = cp.capture AND p.label = ''
    GROUP BY cp.service
),
slow AS (
    SELECT
        cp.service,
        coalesce(i.story, '') AS story,
        i.duration_ns,
        i.duration_ns - coalesce(i.typical_ns, 0) AS excess_ns,
        cp.weight,
        CASE
            WHEN i.duration_ns < 1000 THEN 1
            WHEN i.duration_ns < 10000 THEN 10
            WHEN i.duration_ns < 100000 THEN 100
            WHEN i.duration_ns < 1000000 THEN 1000
            WHEN i.duration_ns < 10000000 THEN 10000
            WHEN i.duration_ns < 100000000 THEN 100000
            WHEN i.duration_ns < 1000000000 THEN 1000000
            ELSE 10000000
        END AS digit_ns
    FROM intervals AS i
    JOIN captures AS cp ON cp.capture = i.capture
    WHERE i.role = 'outlier'
),
rounded AS (
    SELECT
        s.service,
        s.story,
        CAST(floor(s.duration_ns / s.digit_ns) AS BIGINT) * s.digit_ns AS about_ns,
        count(*) AS outliers,
        sum(s.weight) AS weight,
        sum(s.weight * s.excess_ns) AS excess,
        min(s.duration_ns) AS shortest_ns,
        max(s.duration_ns) AS longest_ns
    FROM slow AS s
    GROUP BY s.service, s.story, CAST(floor(s.duration_ns / s.digit_ns) AS BIGINT) * s.digit_ns
),
placed AS (
    SELECT r.*, sum(r.weight) OVER (PARTITION BY r.service ORDER BY r.about_ns DESC) AS as_slow
    FROM rounded AS r
),
banded AS (
    SELECT
        p.*,
        CASE
            WHEN p.as_slow <= 1e-4 * t.intervals THEN 'p99.99 and more'
            WHEN p.as_slow <= 1e-3 * t.intervals THEN 'p99.9 to p99.99'
            WHEN p.as_slow <= 1e-2 * t.intervals THEN 'p99 to p99.9'
            ELSE 'below p99'
        END AS band
    FROM placed AS p
    JOIN totals AS t ON t.service = p.service
)
SELECT
    b.service,
    b.band,
    b.story,
    CAST(sum(b.outliers) AS BIGINT) AS outliers,
    CAST(sum(b.weight) AS DOUBLE) AS weighted_outliers,
    CAST(sum(b.excess) AS DOUBLE) AS weighted_excess_ns,
    min(b.shortest_ns) AS shortest_ns,
    max(b.longest_ns) AS longest_ns
FROM banded AS b
GROUP BY b.service, b.band, b.story
ORDER BY b.service, b.band DESC, weighted_excess_ns DESC, b.story
