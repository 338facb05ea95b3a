-- Hosts, CPU models, kernels, microcode revisions, releases and services: how often their intervals are slow, and what it costs.
WITH cost AS (
    SELECT ca.capture, sum(ca.excess_ns) AS excess_ns FROM causes AS ca GROUP BY ca.capture
),
facts AS (
    SELECT
        cp.service, cp.host, cp.cpu_model, cp.kernel, cp.microcode, cp.release,
        count(*) AS captures,
        sum(cp.weight * p.count) AS intervals,
        sum(cp.weight * p.outliers) AS outliers,
        sum(cp.weight * coalesce(c.excess_ns, 0)) AS excess_ns
    FROM captures AS cp
    JOIN populations AS p ON p.capture = cp.capture AND p.label = ''
    LEFT JOIN cost AS c ON c.capture = cp.capture
    GROUP BY cp.service, cp.host, cp.cpu_model, cp.kernel, cp.microcode, cp.release
),
attributed AS (
    SELECT 'service' AS attribute, f.service AS value, f.host, f.captures, f.intervals, f.outliers, f.excess_ns FROM facts AS f
    UNION ALL SELECT 'host', f.host, f.host, f.captures, f.intervals, f.outliers, f.excess_ns FROM facts AS f
    UNION ALL SELECT 'cpu_model', f.cpu_model, f.host, f.captures, f.intervals, f.outliers, f.excess_ns FROM facts AS f
    UNION ALL SELECT 'kernel', f.kernel, f.host, f.captures, f.intervals, f.outliers, f.excess_ns FROM facts AS f
    UNION ALL SELECT 'microcode', f.microcode, f.host, f.captures, f.intervals, f.outliers, f.excess_ns FROM facts AS f
    UNION ALL SELECT 'release', f.release, f.host, f.captures, f.intervals, f.outliers, f.excess_ns FROM facts AS f
)
SELECT
    a.attribute,
    a.value,
    count(DISTINCT a.host) AS hosts,
    CAST(sum(a.captures) AS BIGINT) AS captures,
    CAST(sum(a.intervals) AS DOUBLE) AS weighted_intervals,
    CAST(sum(a.outliers) AS DOUBLE) AS weighted_outliers,
    CAST(sum(a.excess_ns) AS DOUBLE) AS weighted_excess_ns
FROM attributed AS a
WHERE a.value IS NOT NULL
GROUP BY a.attribute, a.value
ORDER BY a.attribute, weighted_excess_ns DESC, a.value
