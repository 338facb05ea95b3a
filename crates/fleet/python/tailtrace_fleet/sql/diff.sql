-- Stories before and after: rates and excess by interval, and the test of `differs.sql` with `after` against `before`.
--
-- Needs one more view, `sides` (capture, side), with side `before` or `after`; `tailtrace-fleet diff` makes it. Story '' means all
-- outliers. A unit is a host on one side; strata are services. Rates are by weighted interval.
WITH populated AS (
    SELECT
        cp.capture, s.side, cp.service, coalesce(cp.host, '') AS host, cp.weight,
        cp.weight * p.count AS intervals,
        cp.weight * p.outliers AS outliers
    FROM captures AS cp
    JOIN sides AS s ON s.capture = cp.capture
    JOIN populations AS p ON p.capture = cp.capture AND p.label = ''
    WHERE p.count > 0 AND cp.weight > 0
),
exposed AS (
    SELECT c.side, c.service, c.host, sum(c.intervals) AS intervals, sum(c.outliers) AS outliers
    FROM populated AS c
    GROUP BY c.side, c.service, c.host
),
found AS (
    SELECT
        c.side, c.service, c.host, ca.story,
        sum(CASE WHEN ca.rank = 0 THEN c.weight ELSE 0 END) AS outliers,
        sum(c.weight * ca.excess_ns) AS excess_ns
    FROM causes AS ca
    JOIN populated AS c ON c.capture = ca.capture
    GROUP BY c.side, c.service, c.host, ca.story
),
units AS (
    SELECT
        e.side, e.service, e.host, q.story, e.intervals,
        coalesce(f.outliers, 0) AS outliers,
        coalesce(f.excess_ns, 0) AS excess_ns,
        CAST(round(1e9 * coalesce(f.outliers, 0) / e.intervals) AS BIGINT) AS rate
    FROM exposed AS e
    CROSS JOIN (SELECT DISTINCT k.story FROM found AS k) AS q
    LEFT JOIN found AS f ON f.story = q.story AND f.side = e.side AND f.service = e.service AND f.host = e.host
    UNION ALL
    SELECT
        e.side, e.service, e.host, '', e.intervals, e.outliers,
        coalesce(g.excess_ns, 0),
        CAST(round(1e9 * e.outliers / e.intervals) AS BIGINT)
    FROM exposed AS e
    LEFT JOIN (
        SELECT f.side, f.service, f.host, sum(f.excess_ns) AS excess_ns FROM found AS f GROUP BY f.side, f.service, f.host
    ) AS g ON g.side = e.side AND g.service = e.service AND g.host = e.host
),
ranked AS (
    SELECT
        u.*,
        rank() OVER (PARTITION BY u.story, u.service ORDER BY u.rate) AS lowest_rank,
        count(*) OVER (PARTITION BY u.story, u.service, u.rate) AS ties,
        count(*) OVER (PARTITION BY u.story, u.service) AS units
    FROM units AS u
),
compared AS (
    SELECT
        r.story,
        r.service,
        r.units,
        sum(CASE WHEN r.side = 'after' THEN 1 ELSE 0 END) AS after_units,
        sum(CASE WHEN r.side = 'after' THEN r.lowest_rank + (r.ties - 1) / 2e0 ELSE 0 END) AS after_ranks,
        CAST(sum(r.ties * r.ties - 1) AS DOUBLE) AS tie_term,
        sum(CASE WHEN r.side = 'before' THEN r.intervals ELSE 0 END) AS before_intervals,
        sum(CASE WHEN r.side = 'after' THEN r.intervals ELSE 0 END) AS after_intervals,
        sum(CASE WHEN r.side = 'before' THEN r.outliers ELSE 0 END) AS before_outliers,
        sum(CASE WHEN r.side = 'after' THEN r.outliers ELSE 0 END) AS after_outliers,
        sum(CASE WHEN r.side = 'before' THEN r.excess_ns ELSE 0 END) AS before_excess_ns,
        sum(CASE WHEN r.side = 'after' THEN r.excess_ns ELSE 0 END) AS after_excess_ns
    FROM ranked AS r
    GROUP BY r.story, r.service, r.units
),
tested AS (
    SELECT
        c.*,
        CASE WHEN c.units > 1 THEN c.after_ranks - c.after_units * (c.units + 1) / 2e0 ELSE 0 END AS deviation,
        CASE
            WHEN c.units > 1 THEN c.after_units * (c.units - c.after_units) / 12e0
            * ((c.units + 1) - c.tie_term / nullif(c.units * (c.units - 1), 0))
            ELSE 0
        END AS variance
    FROM compared AS c
),
names AS (
    SELECT ca.story, min(ca.cause) AS cause, min(ca.what) AS what, min(ca.who) AS who FROM causes AS ca GROUP BY ca.story
)
SELECT
    t.story,
    min(n.cause) AS cause,
    min(n.what) AS what,
    min(n.who) AS who,
    CAST(sum(t.before_intervals) AS DOUBLE) AS before_intervals,
    CAST(sum(t.after_intervals) AS DOUBLE) AS after_intervals,
    CAST(sum(t.before_outliers) AS DOUBLE) AS before_outliers,
    CAST(sum(t.after_outliers) AS DOUBLE) AS after_outliers,
    CAST(sum(t.before_excess_ns) AS DOUBLE) AS before_excess_ns,
    CAST(sum(t.after_excess_ns) AS DOUBLE) AS after_excess_ns,
    CAST(CASE WHEN sum(t.variance) > 0 THEN sum(t.deviation) / sqrt(nullif(sum(t.variance), 0)) ELSE 0 END AS DOUBLE) AS z
FROM tested AS t
LEFT JOIN names AS n ON n.story = t.story
GROUP BY t.story
ORDER BY t.story
