-- Which counter or attribute of the program goes with a story: its slow intervals against the intervals of the same capture and label
-- that are not slow, typical and sampled ones.
--
-- A stratum is one capture and label. Of counters: the Mann-Whitney test on their values, corrected for ties; of the texts of an
-- attribute: the test of Mantel and Haenszel on how many intervals have the text, for texts that are at least five times with the
-- story. Deviations and variances are added over strata, so that what is large on one host alone is no reason. `z` is standard
-- normal where nothing differs; probabilities and the correction for many tests are in `statistics.py`. `own` and `others` are
-- means of a counter, or shares of the intervals that have the text. The thirty stories are tested that are foremost most often.
WITH frequent AS (
    SELECT i.story
    FROM intervals AS i
    WHERE i.role = 'outlier' AND i.story IS NOT NULL
    GROUP BY i.story
    ORDER BY count(*) DESC, i.story
    LIMIT 30
),
slow AS (
    SELECT i.story, i.capture, i.label, i.interval
    FROM intervals AS i
    JOIN frequent AS f ON f.story = i.story
    WHERE i.role = 'outlier'
),
members AS (
    SELECT s.story, s.capture, s.label, s.interval, 1 AS own FROM slow AS s
    UNION ALL
    SELECT s.story, i.capture, i.label, i.interval, 0
    FROM (SELECT DISTINCT o.story, o.capture, o.label FROM slow AS o) AS s
    JOIN intervals AS i ON i.capture = s.capture AND i.label = s.label
    WHERE i.role <> 'outlier'
),
held AS (
    SELECT m.story, m.capture, m.label, m.own, a.name, a.number, a.text
    FROM members AS m
    JOIN attributes AS a ON a.capture = m.capture AND a.interval = m.interval
),
ranked AS (
    SELECT
        h.*,
        rank() OVER (PARTITION BY h.story, h.capture, h.label, h.name ORDER BY h.number) AS lowest_rank,
        count(*) OVER (PARTITION BY h.story, h.capture, h.label, h.name, h.number) AS ties
    FROM held AS h
    WHERE h.number IS NOT NULL
),
numbers AS (
    -- As in `differs.sql`: summed over units, ties * ties - 1 is the sum of t^3 - t over groups of t equal values.
    SELECT
        r.story,
        r.name,
        count(*) AS units,
        sum(r.own) AS own_units,
        sum(r.own * r.number) AS own_sum,
        sum((1 - r.own) * r.number) AS other_sum,
        sum(r.own * (r.lowest_rank + (r.ties - 1) / 2e0)) AS ranks,
        sum(r.ties * r.ties - 1) AS tie_term
    FROM ranked AS r
    GROUP BY r.story, r.capture, r.label, r.name
),
of_numbers AS (
    SELECT
        n.story,
        n.name,
        CAST(NULL AS STRING) AS text,
        n.own_units,
        n.units - n.own_units AS other_units,
        n.own_sum,
        n.other_sum,
        n.ranks - n.own_units * (n.units + 1) / 2e0 AS deviation,
        n.own_units * (n.units - n.own_units) / 12e0
        * ((n.units + 1) - CAST(n.tie_term AS DOUBLE) / nullif(n.units * (n.units - 1), 0)) AS variance
    FROM numbers AS n
    WHERE n.own_units > 0 AND n.own_units < n.units
),
texts AS (
    SELECT h.story, h.capture, h.label, h.name, CAST(count(*) AS DOUBLE) AS units, CAST(sum(h.own) AS DOUBLE) AS own_units
    FROM held AS h
    WHERE h.text IS NOT NULL
    GROUP BY h.story, h.capture, h.label, h.name
),
with_text AS (
    SELECT h.story, h.capture, h.label, h.name, h.text, CAST(count(*) AS DOUBLE) AS units, CAST(sum(h.own) AS DOUBLE) AS own_units
    FROM held AS h
    WHERE h.text IS NOT NULL
    GROUP BY h.story, h.capture, h.label, h.name, h.text
),
usual AS (
    SELECT w.story, w.name, w.text FROM with_text AS w GROUP BY w.story, w.name, w.text HAVING sum(w.own_units) >= 5
),
counted AS (
    -- Of each stratum: n of all units are of the story, k have the text, x are both.
    SELECT
        t.story, t.name, u.text, t.units AS all_units, t.own_units AS n,
        coalesce(w.units, 0e0) AS k,
        coalesce(w.own_units, 0e0) AS x
    FROM texts AS t
    JOIN usual AS u ON u.story = t.story AND u.name = t.name
    LEFT JOIN with_text AS w
        ON w.story = t.story AND w.capture = t.capture AND w.label = t.label AND w.name = t.name AND w.text = u.text
    WHERE t.own_units > 0 AND t.own_units < t.units
),
compared AS (
    SELECT o.* FROM of_numbers AS o
    UNION ALL
    SELECT
        c.story,
        c.name,
        c.text,
        c.n,
        c.all_units - c.n,
        c.x,
        c.k - c.x,
        c.x - c.n * c.k / c.all_units,
        c.n * (c.all_units - c.n) * c.k * (c.all_units - c.k) / (c.all_units * c.all_units * (c.all_units - 1))
    FROM counted AS c
)
SELECT
    c.story,
    c.name,
    c.text,
    CAST(sum(c.own_units) AS BIGINT) AS units,
    CAST(sum(c.other_units) AS BIGINT) AS other_units,
    CAST(sum(c.own_sum) / sum(c.own_units) AS DOUBLE) AS own,
    CAST(sum(c.other_sum) / sum(c.other_units) AS DOUBLE) AS others,
    CAST(sum(c.deviation) / sqrt(nullif(sum(c.variance), 0)) AS DOUBLE) AS z
FROM compared AS c
GROUP BY c.story, c.name, c.text
HAVING sum(c.variance) > 0
ORDER BY c.story, c.name, c.text
