-- The best example of each story: an outlier in which the story is the foremost cause, known as well as can be, with little else
-- in it, and of a length that is usual for the story.
--
-- Candidates are the outliers of the story whose excess is within one percent of its median, or else the nearest.
WITH slow AS (
    SELECT i.story, i.capture, i.interval, i.duration_ns - coalesce(i.typical_ns, 0) AS excess_ns
    FROM intervals AS i
    WHERE i.role = 'outlier' AND i.story IS NOT NULL
),
usual AS (
    SELECT s.story, percentile_cont(0.5) WITHIN GROUP (ORDER BY s.excess_ns) AS median_ns
    FROM slow AS s
    GROUP BY s.story
),
nearest AS (
    SELECT s.story, min(u.median_ns) AS median_ns, min(abs(s.excess_ns - u.median_ns)) AS distance_ns
    FROM slow AS s
    JOIN usual AS u ON u.story = s.story
    GROUP BY s.story
),
near AS (
    SELECT s.story, s.capture, s.interval, s.excess_ns, n.median_ns, abs(s.excess_ns - n.median_ns) AS distance_ns
    FROM slow AS s
    JOIN nearest AS n ON n.story = s.story
    WHERE abs(s.excess_ns - n.median_ns) <= greatest(n.distance_ns, 1e-2 * n.median_ns)
),
judged AS (
    SELECT
        n.story,
        n.capture,
        n.interval,
        n.excess_ns,
        n.median_ns,
        row_number() OVER (
            PARTITION BY n.story
            ORDER BY
                CASE ca.certainty WHEN 'measured' THEN 0 WHEN 'decoded' THEN 1 WHEN 'inferred' THEN 2 ELSE 3 END,
                -- Its share of the excess in fifths, so that a little more of one does not outweigh the length.
                CASE WHEN n.excess_ns > 0 THEN least(floor(5e0 * ca.excess_ns / n.excess_ns), 5) ELSE 0 END DESC,
                n.distance_ns,
                n.capture,
                n.interval
        ) AS place
    FROM near AS n
    JOIN causes AS ca ON ca.capture = n.capture AND ca.interval = n.interval AND ca.story = n.story AND ca.rank = 0
)
SELECT
    j.story,
    j.capture,
    j.interval,
    i.begin_tsc,
    i.label,
    i.key,
    i.headline,
    i.duration_ns,
    i.typical_ns,
    j.excess_ns,
    CAST(j.median_ns AS DOUBLE) AS median_excess_ns,
    cp.uri,
    cp.whole,
    cp.host,
    cp.service,
    cp.release,
    cp.day
FROM judged AS j
JOIN captures AS cp ON cp.capture = j.capture
JOIN intervals AS i ON i.capture = j.capture AND i.interval = j.interval AND i.role = 'outlier'
WHERE j.place = 1
ORDER BY j.story
