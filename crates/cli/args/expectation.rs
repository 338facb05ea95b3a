//! `--expect`: `FIGURE RELATION LIMIT`, as `p99 < 200us`, `share(offcpu.lock) < 5%`, `p99 <= 1.05x`.
//!
//! FIGURE is `pP` for a percentile, `mean`, `max`, or `share(CAUSE)`. RELATION is `<`, `<=`, `>` or `>=`. LIMIT is a duration
//! with its unit, for a share a number with `%`, and for the figure of two captures a factor with `x`.

use analysis::expectation::{Expectation, Figure, Limit, Relation, checked_cause};

use super::text;

/// Reads one.
///
/// # Errors
/// What is wrong, and what would be right.
pub(crate) fn parse(text: &str) -> Result<Expectation, String> {
    let usage = "write it as 'p99 < 200us', 'share(offcpu.lock) < 5%' or, of two captures, 'p99 <= 1.05x'";
    let at = text.find(['<', '>']).ok_or_else(|| format!("it has no relation: {usage}"))?;
    let (name, rest) = (text[..at].trim(), &text[at..]);
    let relations = [
        ("<=", Relation::LessOrEqual),
        (">=", Relation::GreaterOrEqual),
        ("<", Relation::Less),
        (">", Relation::Greater),
    ];
    let of_sign = |(sign, relation): (&str, Relation)| Some((rest.strip_prefix(sign)?.trim(), relation));
    let (limit, relation) = relations.into_iter().find_map(of_sign).ok_or_else(|| usage.to_owned())?;
    let figure = figure(name).map_err(|what| format!("{what}: {usage}"))?;
    let limit = limit_of(limit)?;
    match (&figure, limit) {
        (Figure::Share(_), Limit::Share(_)) => {}
        (Figure::Share(_), _) => return Err("the limit of a share is a percentage: 5%".to_owned()),
        (_, Limit::Share(_)) => return Err("only a share has a percentage as its limit".to_owned()),
        _ => {}
    }
    Ok(Expectation { text: text.trim().to_owned(), figure, relation, limit })
}

fn figure(name: &str) -> Result<Figure, String> {
    if let Some(cause) = name.strip_prefix("share(").and_then(|rest| rest.strip_suffix(')')) {
        return checked_cause(cause.trim()).map(Figure::Share).map_err(|error| error.to_string());
    }
    match name {
        "mean" => return Ok(Figure::Mean),
        "max" => return Ok(Figure::Highest),
        _ => {}
    }
    let percent = name.strip_prefix('p').and_then(|_| text::percentile(name).ok());
    match percent.filter(|percent| (0.0..=100.0).contains(percent)) {
        Some(percent) => Ok(Figure::Percentile(percent)),
        None => {
            Err(format!("'{name}' is no figure; there are percentiles as p99.9, mean, max and share(CAUSE)"))
        }
    }
}

fn limit_of(limit: &str) -> Result<Limit, String> {
    let number = |text: &str| {
        let number: Option<f64> = text.trim().parse().ok();
        number.filter(|number| number.is_finite() && *number >= 0.0)
    };
    if let Some(percent) = limit.strip_suffix('%') {
        let percent = number(percent).ok_or_else(|| format!("'{limit}' is no percentage"))?;
        return Ok(Limit::Share(percent / 100.0));
    }
    if let Some(factor) = limit.strip_suffix('x') {
        return Ok(Limit::Ratio(number(factor).ok_or_else(|| format!("'{limit}' is no factor"))?));
    }
    text::duration_ns(limit).map(Limit::Duration).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_relations_and_limits() {
        let read = |text: &str| {
            let found = parse(text).expect(text);
            (found.figure, found.relation, found.limit)
        };
        assert_eq!(read("p99 < 200us"), (Figure::Percentile(99.0), Relation::Less, Limit::Duration(200_000)));
        assert_eq!(
            read("p99.9<=1.05x"),
            (Figure::Percentile(99.9), Relation::LessOrEqual, Limit::Ratio(1.05))
        );
        let lock = Figure::Share("offcpu.lock".to_owned());
        assert_eq!(read(" share( offcpu.lock ) < 5 % "), (lock, Relation::Less, Limit::Share(0.05)));
        assert_eq!(
            read("mean >= 1.5ms"),
            (Figure::Mean, Relation::GreaterOrEqual, Limit::Duration(1_500_000))
        );
        assert_eq!(read("max > 10ns"), (Figure::Highest, Relation::Greater, Limit::Duration(10)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, says) in [
            ("", "no relation"),
            ("p99 = 5us", "no relation"),
            ("p99 < 200", "has no unit"),
            ("p99 <", "no duration"),
            ("p101 < 5us", "'p101' is no figure"),
            ("99 < 5us", "'99' is no figure"),
            ("mean < 5%", "only a share"),
            ("share(offcpu.lock) < 5us", "is a percentage"),
            ("share(offcpu.lokc) < 5%", "did you mean offcpu.lock?"),
            ("p99 < -1x", "'-1x' is no factor"),
            ("share(offcpu) < NaN%", "is no percentage"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
