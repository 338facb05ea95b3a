-- What was wrong with captures, most frequent first; the error of a capture that gave no other rows is one of them.
WITH said AS (
    SELECT d.severity, d.what, d.capture FROM diagnostics AS d
    UNION
    SELECT cp.status AS severity, cp.error AS what, cp.capture FROM captures AS cp WHERE cp.error IS NOT NULL
)
SELECT s.severity, s.what, count(DISTINCT s.capture) AS captures, min(cp.uri) AS uri
FROM said AS s
JOIN captures AS cp ON cp.capture = s.capture
GROUP BY s.severity, s.what
ORDER BY captures DESC, s.severity, s.what
