-- Stories by weighted excess: what each cost the requests of the whole fleet.
--
-- A capture of weight w stands for w like it, so the excess of its causes counts w times. `foremost`: outliers whose largest
-- cause is this story. Names are those of one row; all rows of a story have the same chain.
SELECT
    ca.story,
    min(ca.cause) AS cause,
    min(ca.chain) AS chain,
    min(ca.what) AS what,
    min(ca.who) AS who,
    CAST(sum(cp.weight * ca.excess_ns) AS DOUBLE) AS weighted_excess_ns,
    CAST(sum(ca.excess_ns) AS BIGINT) AS excess_ns,
    count(*) AS occurrences,
    CAST(sum(CASE WHEN ca.rank = 0 THEN 1 ELSE 0 END) AS BIGINT) AS foremost,
    CAST(sum(CASE WHEN ca.rank = 0 THEN cp.weight ELSE 0 END) AS DOUBLE) AS weighted_foremost,
    count(DISTINCT cp.host) AS hosts,
    min(nullif(cp.day, 'unknown')) AS first_day,
    max(nullif(cp.day, 'unknown')) AS last_day
FROM causes AS ca
JOIN captures AS cp ON cp.capture = ca.capture
GROUP BY ca.story
ORDER BY weighted_excess_ns DESC, ca.story
