-- Which CPU model, microcode, kernel, release and host differs from the rest: the Mann-Whitney test on rates of slow intervals.
--
-- A unit is one host (of the attribute `host`: one day of it) with its rate, outliers by intervals, both weighted. Units are
-- ranked only among those that agree in everything listed as their stratum; deviations of rank sums are then added over strata
-- (van Elteren 1960, "On the combination of independent two sample tests of Wilcoxon"), so no value is blamed for the service or
-- the CPU model that it happens to be found with. `z` is standard normal where nothing differs, and corrected for ties.
-- `expected_outliers`: what the value would have at the rate of the other units of its strata. Probabilities and the correction
-- for many tests are not in SQL but in `statistics.py`.
WITH exposed AS (
    SELECT
        cp.service,
        cp.day,
        cp.host,
        coalesce(cp.release, '') AS release,
        coalesce(cp.cpu_model, '') AS cpu_model,
        coalesce(cp.microcode, '') AS microcode,
        coalesce(cp.kernel, '') AS kernel,
        sum(cp.weight * p.count) AS intervals,
        sum(cp.weight * p.outliers) AS outliers
    FROM captures AS cp
    JOIN populations AS p ON p.capture = cp.capture AND p.label = ''
    WHERE cp.host IS NOT NULL AND p.count > 0 AND cp.weight > 0
    GROUP BY cp.service, cp.day, cp.host, cp.release, cp.cpu_model, cp.microcode, cp.kernel
),
attributed AS (
    SELECT 'cpu_model' AS attribute, e.cpu_model AS value, e.service AS stratum, e.host AS unit, e.intervals, e.outliers
    FROM exposed AS e
    UNION ALL
    SELECT 'microcode', e.microcode, concat_ws('|', e.service, e.cpu_model), e.host, e.intervals, e.outliers
    FROM exposed AS e
    UNION ALL
    SELECT 'kernel', e.kernel, concat_ws('|', e.service, e.cpu_model, e.microcode), e.host, e.intervals, e.outliers
    FROM exposed AS e
    UNION ALL
    SELECT
        'release', e.release, concat_ws('|', e.service, e.cpu_model, e.microcode, e.kernel), e.host, e.intervals, e.outliers
    FROM exposed AS e
    UNION ALL
    SELECT
        'host',
        e.host,
        concat_ws('|', e.service, e.day, e.release, e.cpu_model, e.microcode, e.kernel),
        e.day,
        e.intervals,
        e.outliers
    FROM exposed AS e
),
units AS (
    SELECT
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
    GROUP BY a.attribute, a.value, a.stratum, a.unit
),
ranked AS (
    SELECT
        u.attribute,
        u.value,
        u.stratum,
        u.intervals,
        u.outliers,
        rank() OVER (PARTITION BY u.attribute, u.stratum ORDER BY u.rate) AS lowest_rank,
        count(*) OVER (PARTITION BY u.attribute, u.stratum, u.rate) AS ties,
        count(*) OVER (PARTITION BY u.attribute, u.stratum) AS units,
        sum(u.intervals) OVER (PARTITION BY u.attribute, u.stratum) AS all_intervals,
        sum(u.outliers) OVER (PARTITION BY u.attribute, u.stratum) AS all_outliers
    FROM units AS u
),
tied AS (
    -- Summed over the units of a stratum, ties * ties - 1 is the sum of t^3 - t over its groups of t equal rates.
    SELECT r.*, sum(r.ties * r.ties - 1) OVER (PARTITION BY r.attribute, r.stratum) AS tie_term
    FROM ranked AS r
),
compared AS (
    SELECT
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
    GROUP BY t.attribute, t.value, t.stratum, t.units, t.all_intervals, t.all_outliers, t.tie_term
    HAVING count(*) < t.units
)
SELECT
    c.attribute,
    c.value,
    CAST(sum(c.units) AS BIGINT) AS units,
    CAST(sum(c.other_units) AS BIGINT) AS other_units,
    CAST(sum(c.intervals) AS DOUBLE) AS weighted_intervals,
    CAST(sum(c.outliers) AS DOUBLE) AS weighted_outliers,
    CAST(sum(c.intervals * c.rate_of_others) AS DOUBLE) AS expected_outliers,
    CAST(sum(c.deviation) / sqrt(nullif(sum(c.variance), 0)) AS DOUBLE) AS z
FROM compared AS c
GROUP BY c.attribute, c.value
HAVING sum(c.variance) > 0
ORDER BY c.attribute, c.value
