-- For each host the story that makes most of its difference from the other hosts of its service: found less expected, where the
-- expectation is the rate of the other hosts. Whether a host differs at all is for `differs.sql` to say.
WITH exposed AS (
    SELECT cp.service, cp.host, sum(cp.weight * p.count) AS intervals
    FROM captures AS cp
    JOIN populations AS p ON p.capture = cp.capture AND p.label = ''
    WHERE cp.host IS NOT NULL
    GROUP BY cp.service, cp.host
),
slow AS (
    SELECT cp.service, cp.host, i.story, sum(cp.weight) AS outliers
    FROM intervals AS i
    JOIN captures AS cp ON cp.capture = i.capture
    WHERE i.role = 'outlier' AND i.story IS NOT NULL AND cp.host IS NOT NULL
    GROUP BY cp.service, cp.host, i.story
),
compared AS (
    SELECT
        s.host,
        s.story,
        CAST(s.outliers AS DOUBLE) AS weighted_outliers,
        CAST(
            e.intervals * (sum(s.outliers) OVER (PARTITION BY s.service, s.story) - s.outliers)
            / nullif(t.intervals - e.intervals, 0) AS DOUBLE
        ) AS expected_outliers
    FROM slow AS s
    JOIN exposed AS e ON e.service = s.service AND e.host = s.host
    JOIN (SELECT x.service, sum(x.intervals) AS intervals FROM exposed AS x GROUP BY x.service) AS t ON t.service = s.service
),
placed AS (
    SELECT
        c.*,
        row_number() OVER (PARTITION BY c.host ORDER BY c.weighted_outliers - c.expected_outliers DESC, c.story) AS place
    FROM compared AS c
    WHERE c.expected_outliers IS NOT NULL
)
SELECT p.host, p.story, p.weighted_outliers, p.expected_outliers
FROM placed AS p
WHERE p.place = 1 AND p.weighted_outliers > p.expected_outliers
ORDER BY p.host
