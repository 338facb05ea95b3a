//! The robust z-score against hand-worked sets.

use super::*;

fn judge(durations: &[u64], labels: &[&str]) -> Judgement {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    let durations = Durations { all: durations, sorted: &sorted };
    OutlierRule::default().judge(durations, labels.iter().copied(), Unit::Nanoseconds)
}

fn outliers(judgement: &Judgement) -> Vec<usize> {
    (0..judgement.is_outlier.len()).filter(|&at| judgement.is_outlier[at]).collect()
}

#[test]
fn only_the_slow_side() {
    // Median 10, distances 9 1 0 0 1 0 1 90: sorted 0 0 0 1 1 1 9 90, MAD 1; 10 + 3.5/0.6745 = 15.19.
    let durations = [1, 9, 10, 10, 11, 10, 11, 100];
    let judgement = judge(&durations, &["x"; 8]);
    assert_eq!(outliers(&judgement), [7]);
    assert!((judgement.thresholds[0].threshold - 15.189).abs() < 0.001);
    assert_eq!(judgement.rule, "robust z-score above 3.5: longer than 15 ns (median 10 ns, MAD 1 ns)");
}

#[test]
fn half_alike_falls_back_to_the_mean_distance() {
    // Median 5, MAD 0, mean distance 95/10 = 9.5; 5 + 3.5 * 1.253314 * 9.5 = 46.67.
    let durations = [5, 5, 5, 5, 5, 5, 5, 5, 5, 100];
    let judgement = judge(&durations, &["x"; 10]);
    assert_eq!(outliers(&judgement), [9]);
    assert!((judgement.thresholds[0].threshold - 46.673).abs() < 0.001);
}

#[test]
fn all_alike_none() {
    let judgement = judge(&[5; 20], &["x"; 20]);
    assert_eq!(outliers(&judgement), [0usize; 0]);
    assert!(judgement.rule.contains("no spread"));
    assert_eq!(judge(&[], &[]).rule, "robust z-score above 3.5");
}

#[test]
fn each_label_for_itself_and_rare_ones_together() {
    let mut durations = vec![10, 11, 10, 9, 10, 11, 9, 40];
    let mut labels = vec!["fast"; 8];
    durations.extend([1000, 1010, 990, 1000, 1010, 990, 1000, 1005]);
    labels.extend(["slow"; 8]);
    durations.extend([100, 101, 99, 100, 102, 700]);
    labels.extend(["a", "b", "c", "a", "b", "c"]);
    let judgement = judge(&durations, &labels);
    assert_eq!(outliers(&judgement), [7, 21]);
    let labels: Vec<_> = judgement.thresholds.iter().map(|each| each.label.as_deref()).collect();
    assert_eq!(labels, [None, Some("fast"), Some("slow")]);
    assert!(judgement.rule.contains("within its label: other labels: longer than"));
}
