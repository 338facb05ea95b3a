-- How each story spreads over machines: its five hosts with the largest weighted excess, with their share of it.
WITH found AS (
    SELECT ca.story, cp.host, CAST(sum(cp.weight * ca.excess_ns) AS DOUBLE) AS weighted_excess_ns
    FROM causes AS ca
    JOIN captures AS cp ON cp.capture = ca.capture
    WHERE cp.host IS NOT NULL
    GROUP BY ca.story, cp.host
),
placed AS (
    SELECT
        f.story,
        f.host,
        f.weighted_excess_ns,
        sum(f.weighted_excess_ns) OVER (PARTITION BY f.story) AS total,
        row_number() OVER (PARTITION BY f.story ORDER BY f.weighted_excess_ns DESC, f.host) AS place
    FROM found AS f
)
SELECT
    p.story,
    p.place,
    p.host,
    p.weighted_excess_ns,
    CASE WHEN p.total > 0 THEN p.weighted_excess_ns / p.total END AS share
FROM placed AS p
WHERE p.place <= 5
ORDER BY p.story, p.place
