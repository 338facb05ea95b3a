-- Stories that are new, or more frequent, since a release or a day: the G test on captures that hold them.
--
-- Releases of a service are ordered by the begin of their first capture. Each release and day is tried as the point from which on
-- a story is found: captures with and without it, before and since. `g` is twice the logarithm of the likelihood ratio of two
-- shares against one (Sokal and Rohlf, "Biometry", G test of independence), chi-square distributed with one degree of freedom
-- where nothing changed. Rows are those of points at which the share grew. Probabilities: `statistics.py`.
WITH points AS (
    SELECT cp.service, 'release' AS kind, cp.release AS point, min(cp.day) AS first_day, min(cp.begin_ns) AS first_ns, count(*) AS captures
    FROM captures AS cp
    WHERE cp.release IS NOT NULL AND cp.status IN ('ok', 'partial')
    GROUP BY cp.service, cp.release
    UNION ALL
    SELECT cp.service, 'day', cp.day, min(cp.day), min(cp.begin_ns), count(*)
    FROM captures AS cp
    WHERE cp.status IN ('ok', 'partial') AND cp.day <> 'unknown'
    GROUP BY cp.service, cp.day
),
placed AS (
    SELECT
        p.service,
        p.kind,
        p.point,
        p.captures,
        p.first_day,
        row_number() OVER (
            PARTITION BY p.service, p.kind ORDER BY p.first_day, coalesce(p.first_ns, 0), p.point
        ) AS place
    FROM points AS p
),
holding AS (
    SELECT DISTINCT i.story, i.capture FROM intervals AS i WHERE i.role = 'outlier' AND i.story IS NOT NULL
),
found AS (
    SELECT h.story, cp.service, 'release' AS kind, cp.release AS point, count(*) AS captures
    FROM holding AS h
    JOIN captures AS cp ON cp.capture = h.capture
    WHERE cp.release IS NOT NULL
    GROUP BY h.story, cp.service, cp.release
    UNION ALL
    SELECT h.story, cp.service, 'day', cp.day, count(*)
    FROM holding AS h
    JOIN captures AS cp ON cp.capture = h.capture
    WHERE cp.day <> 'unknown'
    GROUP BY h.story, cp.service, cp.day
),
known AS (
    SELECT DISTINCT f.story, f.service FROM found AS f
),
cumulated AS (
    SELECT
        k.story,
        p.service,
        p.kind,
        p.point,
        p.first_day,
        p.place,
        sum(coalesce(f.captures, 0)) OVER later AS with_since,
        sum(p.captures) OVER later AS captures_since,
        sum(coalesce(f.captures, 0)) OVER (PARTITION BY k.story, p.service, p.kind) AS with_all,
        sum(p.captures) OVER (PARTITION BY k.story, p.service, p.kind) AS captures_all
    FROM placed AS p
    JOIN known AS k ON k.service = p.service
    LEFT JOIN found AS f ON f.story = k.story AND f.service = p.service AND f.kind = p.kind AND f.point = p.point
    WINDOW later AS (
        PARTITION BY k.story, p.service, p.kind ORDER BY p.place DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),
sides AS (
    SELECT
        c.story,
        c.service,
        c.kind,
        c.point,
        c.first_day,
        CAST(c.with_since AS DOUBLE) AS a,
        CAST(c.captures_since - c.with_since AS DOUBLE) AS b,
        CAST(c.with_all - c.with_since AS DOUBLE) AS c,
        CAST(c.captures_all - c.captures_since - c.with_all + c.with_since AS DOUBLE) AS d
    FROM cumulated AS c
    WHERE c.place > 1
),
weighed AS (
    SELECT
        s.*,
        CASE WHEN s.a > 0 THEN s.a * ln(s.a) ELSE 0 END + CASE WHEN s.b > 0 THEN s.b * ln(s.b) ELSE 0 END
        + CASE WHEN s.c > 0 THEN s.c * ln(s.c) ELSE 0 END + CASE WHEN s.d > 0 THEN s.d * ln(s.d) ELSE 0 END AS cells,
        (s.a + s.b) * ln(s.a + s.b) + (s.c + s.d) * ln(s.c + s.d)
        + CASE WHEN s.a + s.c > 0 THEN (s.a + s.c) * ln(s.a + s.c) ELSE 0 END
        + CASE WHEN s.b + s.d > 0 THEN (s.b + s.d) * ln(s.b + s.d) ELSE 0 END AS margins,
        (s.a + s.b + s.c + s.d) * ln(s.a + s.b + s.c + s.d) AS total
    FROM sides AS s
)
SELECT
    w.story,
    w.service,
    w.kind,
    w.point,
    w.first_day,
    CAST(w.c AS BIGINT) AS captures_with_before,
    CAST(w.c + w.d AS BIGINT) AS captures_before,
    CAST(w.a AS BIGINT) AS captures_with_since,
    CAST(w.a + w.b AS BIGINT) AS captures_since,
    2 * (w.cells - w.margins + w.total) AS g
FROM weighed AS w
WHERE w.a * (w.c + w.d) > w.c * (w.a + w.b)
ORDER BY g DESC, w.story, w.service, w.kind, w.point
