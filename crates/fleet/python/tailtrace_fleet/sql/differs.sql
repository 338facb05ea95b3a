-- Which CPU model, microcode, kernel, release and host differs from the rest, in all slow intervals (`story` is empty) and in those
-- of one story: the Mann-Whitney test on rates of slow intervals.
--
-- A unit is one host (of the attribute `host`: one day of it) with its rate, outliers by intervals, both weighted. Units are
-- ranked only among those that agree in everything listed as their stratum; deviations of rank sums are then added over strata
-- (van Elteren 1960, "On the combination of independent two sample tests of Wilcoxon"), so no value is blamed for the service or
-- the CPU model that it happens to be found with. `z` is standard normal where nothing differs, and corrected for ties.
-- `expected_outliers`: what the value would have at the rate of the other units of its strata. Probabilities and the correction
-- for many tests are not in SQL but in `statistics.py`.
--
-- Of stories the thirty are tested that are foremost most often, hosts not at all. An interval counts for the story of its foremost
-- cause; hosts on which a story was never seen count with rate zero.
WITH slow AS (
    SELECT i.capture, i.story, count(*) AS outliers
    FROM intervals AS i
    WHERE i.role = 'outlier' AND i.story IS NOT NULL
    GROUP BY i.capture, i.story
),
frequent AS (
    SELECT s.story FROM slow AS s GROUP BY s.story ORDER BY sum(s.outliers) DESC, s.story LIMIT 30
),
populated AS (
    SELECT
        cp.capture,
        cp.service,
        cp.day,
        cp.host,
        coalesce(cp.release, '') AS release,
        coalesce(cp.cpu_model, '') AS cpu_model,
        coalesce(cp.microcode, '') AS microcode,
        coalesce(cp.kernel, '') AS kernel,
        cp.weight,
        cp.weight * p.count AS intervals,
        cp.weight * p.outliers AS outliers
    FROM captures AS cp
    JOIN populations AS p ON p.capture = cp.capture AND p.label = ''
    WHERE cp.host IS NOT NULL AND p.count > 0 AND cp.weight > 0
),
exposed AS (
    SELECT
        c.service, c.day, c.host, c.release, c.cpu_model, c.microcode, c.kernel,
        sum(c.intervals) AS intervals,
        sum(c.outliers) AS outliers
    FROM populated AS c
    GROUP BY c.service, c.day, c.host, c.release, c.cpu_model, c.microcode, c.kernel
),
hosts AS (
    SELECT e.service, e.host, e.release, e.cpu_model, e.microcode, e.kernel, sum(e.intervals) AS intervals
    FROM exposed AS e
    GROUP BY e.service, e.host, e.release, e.cpu_model, e.microcode, e.kernel
),
found AS (
    SELECT
        c.service, c.host, c.release, c.cpu_model, c.microcode, c.kernel, s.story,
        sum(c.weight * s.outliers) AS outliers
    FROM slow AS s
    JOIN frequent AS f ON f.story = s.story
    JOIN populated AS c ON c.capture = s.capture
    GROUP BY c.service, c.host, c.release, c.cpu_model, c.microcode, c.kernel, s.story
),
cells AS (
    SELECT
        '' AS story, e.service, e.day, e.host, e.release, e.cpu_model, e.microcode, e.kernel,
        CAST(e.intervals AS DOUBLE) AS intervals,
        CAST(e.outliers AS DOUBLE) AS outliers
    FROM exposed AS e
    UNION ALL
    SELECT
        q.story, e.service, '', e.host, e.release, e.cpu_model, e.microcode, e.kernel,
        CAST(e.intervals AS DOUBLE),
        CAST(coalesce(f.outliers, 0) AS DOUBLE)
    FROM hosts AS e
    CROSS JOIN frequent AS q
    LEFT JOIN found AS f
        ON f.story = q.story AND f.service = e.service AND f.host = e.host AND f.release = e.release
        AND f.cpu_model = e.cpu_model AND f.microcode = e.microcode AND f.kernel = e.kernel
),
attributed AS (
    SELECT
        e.story, 'cpu_model' AS attribute, e.cpu_model AS value, e.service AS stratum, e.host AS unit, e.intervals, e.outliers
    FROM cells AS e
    UNION ALL
    SELECT e.story, 'microcode', e.microcode, concat_ws('|', e.service, e.cpu_model), e.host, e.intervals, e.outliers
    FROM cells AS e
    UNION ALL
    SELECT e.story, 'kernel', e.kernel, concat_ws('|', e.service, e.cpu_model, e.microcode), e.host, e.intervals, e.outliers
    FROM cells AS e
    UNION ALL
    SELECT
        e.story,
        'release',
        e.release,
        concat_ws('|', e.service, e.cpu_model, e.microcode, e.kernel),
        e.host,
        e.intervals,
        e.outliers
    FROM cells AS e
    UNION ALL
    SELECT
        e.story,
        'host',
        e.host,
        concat_ws('|', e.service, e.day, e.release, e.cpu_model, e.microcode, e.kernel),
        e.day,
        e.intervals,
        e.outliers
    FROM cells AS e
    WHERE e.story = ''
),
units AS (
    SELECT
        a.story,
        a.attribute,
        a.value,
        a.stratum,
        a.unit,
        sum(a.intervals) AS intervals,
        sum(a.outliers) AS outliers,
        -- Parts per thousand million: equal rates stay equal, whatever the order of the sums.
        CAST(round(1e9 * sum(a.outliers) / sum(a.intervals)) AS BIGINT) AS rate
    FROM attributed AS a
    WHERE a.value <> ''
    GROUP BY a.story, a.attribute, a.value, a.stratum, a.unit
),
ranked AS (
    SELECT
        u.story,
        u.attribute,
        u.value,
        u.stratum,
        u.intervals,
        u.outliers,
        rank() OVER (PARTITION BY u.story, u.attribute, u.stratum ORDER BY u.rate) AS lowest_rank,
        count(*) OVER (PARTITION BY u.story, u.attribute, u.stratum, u.rate) AS ties,
        count(*) OVER (PARTITION BY u.story, u.attribute, u.stratum) AS units,
        sum(u.intervals) OVER (PARTITION BY u.story, u.attribute, u.stratum) AS all_intervals,
        sum(u.outliers) OVER (PARTITION BY u.story, u.attribute, u.stratum) AS all_outliers
    FROM units AS u
),
tied AS (
    -- Summed over the units of a stratum, ties * ties - 1 is the sum of t^3 - t over its groups of t equal rates.
    SELECT r.*, sum(r.ties * r.ties - 1) OVER (PARTITION BY r.story, r.attribute, r.stratum) AS tie_term
    FROM ranked AS r
),
compared AS (
    SELECT
        t.story,
        t.attribute,
        t.value,
        count(*) AS units,
        t.units - count(*) AS other_units,
        sum(t.intervals) AS intervals,
        sum(t.outliers) AS outliers,
        (t.all_outliers - sum(t.outliers)) / nullif(t.all_intervals - sum(t.intervals), 0) AS rate_of_others,
        sum(t.lowest_rank + (t.ties - 1) / 2e0) - count(*) * (t.units + 1) / 2e0 AS deviation,
        count(*) * (t.units - count(*)) / 12e0
        * ((t.units + 1) - CAST(t.tie_term AS DOUBLE) / nullif(t.units * (t.units - 1), 0)) AS variance
    FROM tied AS t
    GROUP BY t.story, t.attribute, t.value, t.stratum, t.units, t.all_intervals, t.all_outliers, t.tie_term
    HAVING count(*) < t.units
)
SELECT
    c.story,
    c.attribute,
    c.value,
    CAST(sum(c.units) AS BIGINT) AS units,
    CAST(sum(c.other_units) AS BIGINT) AS other_units,
    CAST(sum(c.intervals) AS DOUBLE) AS weighted_intervals,
    CAST(sum(c.outliers) AS DOUBLE) AS weighted_outliers,
    CAST(sum(c.intervals * c.rate_of_others) AS DOUBLE) AS expected_outliers,
    CAST(sum(c.deviation) / sqrt(nullif(sum(c.variance), 0)) AS DOUBLE) AS z
FROM compared AS c
GROUP BY c.story, c.attribute, c.value
HAVING sum(c.variance) > 0
ORDER BY c.story, c.attribute, c.value
