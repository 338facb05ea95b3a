"""Tests the rules of the score, with reports and truths made by hand.

    python3 -m unittest discover -s scripts
"""

import sys
import unittest

sys.dont_write_bytecode = True
import score_judge
import score_truth
from score_truth import WITHOUT_PLAN, Truth


def entry(unusual_ns=0, **causes):
    """An interval in which waiting for a lock by polling was injected."""
    known = [{"cause": cause.replace("_", "."), "ns": ns, "uncertainty_ns": 0} for cause, ns in causes.items()]
    known[0]["role"] = "outlier"
    return {"ns": sum(causes.values()), "dominant": known[0]["cause"], "causes": known, "unusual_ns": unusual_ns}


def told(**causes):
    found = [{"cause": cause.replace("extra_work", "extra-work").replace("_", ".", 1), "duration_ns": ns, "excess_ns": ns, "detail": ""}
             for cause, ns in causes.items()]
    return {"causes": found, "segments": [], "calls": [], "baselines": [7, 8]}


def in_time(known, report, *rare):
    """How many of the truth's times a report has right, and how many there are."""
    truth = Truth({1: score_truth.planted_causes(known)}, rare=rare)
    none = type("None", (), {"remarks": [], "mistaken": {}, "tracing_remarks": lambda self: []})()
    score = score_judge.Score("capture", truth, {1: report}, {}, none, none, none, none)
    return score.in_time, score.shares


class Times(unittest.TestCase):
    def test_user_code_without_a_plan_is_all_that_no_plan_explains(self):
        known = entry(user_spin=50_000, user_expected=30_000)
        self.assertEqual(in_time(known, told(user_spin=50_000, user_expected=30_000)), (2, 2))
        # Extra work that was not planted is none of it.
        self.assertEqual(in_time(known, told(user_spin=50_000, user_expected=26_000, user_extra_work=4_000)), (1, 2))
        # What is planted is not a part of it, and what is missing is still missed.
        self.assertEqual(in_time(known, told(user_spin=54_000, user_expected=26_000)), (0, 2))
        self.assertEqual(in_time(known, told(user_spin=46_000, user_expected=30_000, user_extra_work=4_000)), (1, 2))

    def test_extra_work_beside_polling_counts_as_far_as_the_log_shows_unusual_code(self):
        known = entry(unusual_ns=4_000, user_spin=50_000, user_expected=30_000)
        self.assertEqual(in_time(known, told(user_spin=50_000, user_expected=26_000, user_extra_work=4_000)), (2, 2))
        # A part of the polling does not become right, nor does more than the log shows count.
        self.assertEqual(in_time(known, told(user_spin=46_000, user_expected=30_000, user_extra_work=4_000)), (0, 2))
        self.assertEqual(in_time(known, told(user_spin=50_000, user_expected=20_000, user_extra_work=10_000)), (1, 2))
        # Few intervals run it, which this one's baselines are not among, or are.
        rare = told(user_spin=50_000, user_expected=22_000, user_extra_work=8_000)
        self.assertEqual(in_time(known, rare, {1: 4_000, 3: 4_000}), (2, 2))
        self.assertEqual(in_time(known, rare, {1: 4_000, 8: 4_000}), (1, 2))
        # Planted work has a share of its own.
        known = entry(unusual_ns=4_000, **{"user_extra-work": 20_000, "user_expected": 30_000})
        self.assertEqual(in_time(known, told(user_extra_work=20_000, user_expected=26_000)), (1, 2))

    def test_planted_extra_work_is_no_code_without_a_plan(self):
        self.assertFalse(score_judge.is_cause("user.extra-work", WITHOUT_PLAN))
        known = entry(**{"user_extra-work": 20_000, "user_expected": 30_000})
        self.assertEqual(in_time(known, told(user_extra_work=20_000, user_expected=30_000)), (2, 2))
        self.assertEqual(in_time(known, told(user_extra_work=24_000, user_expected=26_000)), (0, 2))


class Quiet(unittest.TestCase):
    def test_code_that_no_baseline_runs_is_real_extra_work(self):
        truth = Truth(causes={id: {"user": 40_000} for id in range(4)}, rare=[{0: 6_000, 3: 6_000}, {2: 9_000}])
        cause = {"cause": "user.extra-work", "excess_ns": 6_000}

        def is_real(cause, *baselines):
            return score_judge.is_real(cause, 0, {"baselines": list(baselines)}, truth, 2_000)[0]
        self.assertTrue(is_real(cause, 1, 2))
        # It is not where a baseline runs it, nor is more than that.
        self.assertFalse(is_real(cause, 1, 3))
        self.assertFalse(is_real(cause | {"excess_ns": 9_000}, 1, 2))
        self.assertFalse(is_real(cause | {"cause": "user.slower.other"}, 1, 2))
        self.assertFalse(is_real(cause | {"cause": "runtime.gc.d"}, 1, 2))


if __name__ == "__main__":
    unittest.main()
