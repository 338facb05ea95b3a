//! Lengths of time in words.

/// Microseconds to the nearest tenth.
pub(crate) fn tell_ns(ns: u64) -> String {
    let tenths = ns.saturating_add(50) / 100;
    format!("{}.{} us", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::tell_ns;

    /// 47.594 us is nearer to 47.6 than to 47.5.
    #[test]
    fn tenths_of_microseconds_are_rounded() {
        let told = [49, 50, 47_594, 1_095_849].map(tell_ns);
        assert_eq!(told, ["0.0 us", "0.1 us", "47.6 us", "1095.8 us"]);
    }
}
