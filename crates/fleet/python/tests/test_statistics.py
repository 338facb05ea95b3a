"""Probabilities against published tables."""

from pytest import approx
from tailtrace_fleet import statistics


def test_the_normal_and_the_chi_square_distribution_at_their_five_percent():
    assert statistics.of_normal(1.959964) == approx(0.05, rel=1e-6)
    assert statistics.of_normal(-2.575829) == approx(0.01, rel=1e-6)
    assert statistics.of_chi_square(3.841459) == approx(0.05, rel=1e-6)
    assert statistics.of_chi_square(-1e-12) == 1


def test_the_example_of_benjamini_and_hochberg():
    # Their table of fifteen comparisons: at 0.05 the four smallest are rejected.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1]
    corrected = statistics.adjusted(p)
    assert sum(q <= 0.05 for q in corrected) == 4
    assert corrected[3] == approx(0.0095 * 15 / 4)
    assert corrected == sorted(corrected)
    assert statistics.adjusted(list(reversed(p))) == list(reversed(corrected))
    assert statistics.adjusted([]) == []


def test_percentiles_of_a_sketch_are_within_its_error():
    gamma = 1.01 / 0.99
    bins = [(None, 10), (100, 80), (400, 9), (500, 1)]
    values = statistics.percentiles(bins, gamma, [0.05, 0.5, 0.99, 0.999])
    # Bin i ends at gamma^i: 7.39, 2981 and 22028 ns; the estimate is one percent below.
    assert values == [0, 7, approx(2981 * 0.99, rel=1e-3), approx(22028 * 0.99, rel=1e-3)]


def test_a_hostile_bin_is_bounded():
    assert statistics.estimate(2**62, 1.02) == 2**62
    assert statistics.estimate(-(2**62), 1.02) == 0
