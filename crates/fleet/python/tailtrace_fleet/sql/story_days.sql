-- Each story by day: its weighted excess, and the intervals that were recorded on that day as the measure for it.
WITH measured AS (
    SELECT cp.day, CAST(sum(cp.weight * p.count) AS DOUBLE) AS weighted_intervals
    FROM captures AS cp
    JOIN populations AS p ON p.capture = cp.capture AND p.label = ''
    WHERE cp.day <> 'unknown'
    GROUP BY cp.day
),
found AS (
    SELECT
        ca.story,
        cp.day,
        CAST(sum(cp.weight * ca.excess_ns) AS DOUBLE) AS weighted_excess_ns,
        CAST(sum(CASE WHEN ca.rank = 0 THEN 1 ELSE 0 END) AS BIGINT) AS foremost
    FROM causes AS ca
    JOIN captures AS cp ON cp.capture = ca.capture
    WHERE cp.day <> 'unknown'
    GROUP BY ca.story, cp.day
)
SELECT f.story, f.day, f.weighted_excess_ns, f.foremost, m.weighted_intervals
FROM found AS f
LEFT JOIN measured AS m ON m.day = f.day
ORDER BY f.story, f.day
