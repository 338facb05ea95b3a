"""Probabilities for what the queries count, and percentiles of merged sketches. Nothing beyond the standard library is needed.

The tests themselves (ranks, ties, strata, G) are SQL; here is only what SQL engines do not have.
"""

import math


def of_normal(z):
    """Two-sided probability that a standard normal deviates at least as far as `z`."""
    return math.erfc(abs(z) / math.sqrt(2))


def of_chi_square(g):
    """Probability that chi-square with one degree of freedom is at least `g`."""
    return math.erfc(math.sqrt(max(g, 0) / 2))


def adjusted(probabilities):
    """Corrected for many tests, in the same order: Benjamini and Hochberg 1995, "Controlling the false discovery rate".

    Taking what has at most q here, a share of at most q of what is taken is expected to be chance.
    """
    count = len(probabilities)
    order = sorted(range(count), key=lambda index: probabilities[index], reverse=True)
    corrected, smallest = [1.0] * count, 1.0
    for place, index in enumerate(order):
        smallest = min(smallest, probabilities[index] * count / (count - place))
        corrected[index] = smallest
    return corrected


def percentiles(bins, gamma, shares):
    """The durations, ns, below or at which these `shares` of all lie, within the sketch's relative error.

    `bins`: (index, count), in order; the index of zero is None. The estimate of a bin is the one with the smallest relative
    error: Masson, Rim and Lee 2019, "DDSketch".
    """
    total = sum(count for _, count in bins)
    found = []
    for share in shares:
        # A rank of up to the last one, whatever rounding does.
        rank, passed, value = share * total, 0.0, 0
        for index, count in bins:
            value = 0 if index is None else estimate(index, gamma)
            passed += count
            if passed >= rank:
                break
        found.append(value)
    return found


def estimate(index, gamma):
    """The duration, ns, that stands for a bin; bounded, for the index may come from a hostile file."""
    logarithm = index * math.log(gamma)
    return round(2 * math.exp(logarithm) / (gamma + 1)) if logarithm < 43 else 2**62
