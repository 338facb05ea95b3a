/// 932.43 of 1060 us are 87.97 %; what is lost, or is not, is never rounded away.
#[test]
fn tenths_of_a_percent_are_rounded() {
    let told = [(93_243, 106_000), (1, 100_000), (99_999, 100_000), (5, 5), (0, 5), (0, 0)]
        .map(|(part, whole)| super::tenths(part, whole));
    assert_eq!(told, ["88.0 %", "<0.1 %", ">99.9 %", "100.0 %", "0.0 %", "0.0 %"]);
}
