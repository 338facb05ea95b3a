-- What the tables hold: captures by status, intervals, outliers, hosts.
SELECT
    cp.status,
    count(*) AS captures,
    count(DISTINCT cp.host) AS hosts,
    count(DISTINCT cp.service) AS services,
    count(DISTINCT nullif(cp.day, 'unknown')) AS days,
    min(nullif(cp.day, 'unknown')) AS first_day,
    max(nullif(cp.day, 'unknown')) AS last_day,
    CAST(sum(cp.bytes) AS BIGINT) AS bytes,
    CAST(sum(coalesce(p.count, 0)) AS BIGINT) AS intervals,
    CAST(sum(coalesce(p.outliers, 0)) AS BIGINT) AS outliers,
    CAST(sum(coalesce(p.explained, 0)) AS BIGINT) AS explained,
    CAST(sum(cp.weight * coalesce(p.count, 0)) AS DOUBLE) AS weighted_intervals,
    CAST(sum(cp.weight * coalesce(p.outliers, 0)) AS DOUBLE) AS weighted_outliers
FROM captures AS cp
LEFT JOIN populations AS p ON p.capture = cp.capture AND p.label = ''
GROUP BY cp.status
ORDER BY cp.status
