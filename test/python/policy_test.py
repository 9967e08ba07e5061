#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies written in Python."""

import gc
import os
import unittest
import weakref

import e4replay
from support import Plain, Roomy, churn, churn_sweep


def policy(**members):
    members.setdefault("good", lambda self, search, group: True)
    return type("Made", (e4replay.Policy,), members)()


def figures(report, column):
    return {key: row[column] or 0 for key, row in report.rows.items() if "time" not in key and not key.endswith("_s")}


class Decide(unittest.TestCase):
    def test_like_the_same_policy_in_a_file(self):
        report = churn().replay([os.environ["E4R_ROOMY"], Roomy()], check=True)
        self.assertEqual(report.columns, ["recorded", "roomy", "roomy (2)"])
        self.assertGreater(report["mb_stats/roomy_stats/hits"][1], 0)
        self.assertEqual(figures(report, 1), figures(report, 2))

    def test_a_ladder_of_the_library_alone_but_for_a_rung_that_never_applies(self):
        never = policy(name="never", applies=lambda self, search: False)
        report = churn().replay(["legacy", never])
        self.assertEqual(figures(report, 1), figures(report, 2))

    def test_what_a_search_says(self):
        seen = []

        def good(self, search, group):
            if not seen:
                seen.append({name: getattr(search, name) for name in (
                    "asked_len", "goal_len", "full_goal_len", "goal_group", "stripe", "flags", "has_lists", "groups",
                    "orders", "clusters_per_group")})
                seen.append((search.tunable("mb_max_to_scan"), search.group(3).number, search.is_usable(group),
                             [one.largest_order for one in search.by_largest(3)],
                             [one.number for one in search.by_average(2)]))
                with_number = search.group(group.number)
                seen.append((with_number.free_clusters, group.free_clusters, group.is_loaded))
            return True

        churn_sweep().point(policy(good=good))
        self.assertEqual(seen[0]["groups"], 32)
        self.assertEqual(seen[0]["clusters_per_group"], 32768)
        self.assertGreaterEqual(seen[0]["full_goal_len"], seen[0]["goal_len"])
        self.assertEqual(seen[1][:2], (200, 3))
        self.assertEqual(set(seen[1][3]) - {3}, set())
        self.assertEqual(seen[2][0], seen[2][1])

    def test_by_hand(self):
        mine = Plain()
        allocator = e4replay.Allocator(churn(), mine, loaded=True)
        kept = weakref.ref(mine)
        del mine
        gc.collect()
        self.assertIsNotNone(kept())
        self.assertTrue(allocator.allocate(100, 8).success)
        allocator.close()
        gc.collect()
        self.assertIsNone(kept())

    def test_parameters_of_a_sweep(self):
        class Least(e4replay.Policy):
            """groups with a chunk of an order"""

            def __init__(self, order):
                self.order = order

            def good(self, search, group):
                return group.largest_order >= self.order

        hits = [churn_sweep().point(Least(order))["mb_stats/cr1.5_stats/hits"][0] for order in (0, 14)]
        self.assertGreater(hits[0], hits[1])

    def test_more_than_there_is_room_for_one_after_the_other(self):
        for _ in range(200):
            policy()._registered()
        alive = [policy() for _ in range(65)]
        with self.assertRaisesRegex(e4replay.Error, "64 Python policies are alive"):
            for one in alive:
                one._registered()
        del alive, one
        gc.collect()
        self.assertGreater(churn_sweep().point(policy())["requests"][0], 0)

    def test_within_another(self):
        answers = []

        class Nested(Plain):
            def good(self, search, group):
                if not answers:
                    answers.append(churn_sweep().point("legacy")["requests"][0])
                return super().good(search, group)

        self.assertEqual(churn_sweep().point(Nested())["requests"][0], answers[0])


class Fail(unittest.TestCase):
    def test_an_exception_is_raised_where_the_replay_was_asked_for(self):
        calls = []

        def good(self, search, group):
            calls.append(1)
            if len(calls) == 100:
                raise LookupError("mine")
            return False

        mine = policy(good=good)
        for call in (lambda: churn_sweep().point(mine), lambda: churn_sweep().decisions(mine),
                     lambda: churn().replay(["legacy", mine])):
            calls.clear()
            with self.assertRaisesRegex(LookupError, "^mine$"):
                call()
            self.assertEqual(len(calls), 100)

    def test_in_every_method(self):
        def broken(self, *_):
            raise LookupError("mine")

        for method in ("good", "choose", "applies", "least_free"):
            with self.subTest(method), self.assertRaises(LookupError):
                churn_sweep().point(policy(**{method: broken}))

    def test_what_is_kept_of_a_search_is_over(self):
        kept = []

        def good(self, search, group):
            kept[:] = [search, group, search.by_largest(0)]
            return True

        churn_sweep().point(policy(good=good))
        for call in (lambda: kept[0].goal_len, lambda: kept[1].number, lambda: next(kept[2]),
                     lambda: kept[0].group(0), lambda: kept[0].is_usable(0)):
            with self.assertRaisesRegex(e4replay.Error, "the search is over"):
                call()

    def test_answers_that_are_none(self):
        for members, error, words in (
                ({"choose": lambda self, search: 32}, ValueError, "the file system has 0 to 31"),
                ({"choose": lambda self, search: -1}, ValueError, "group -1"),
                ({"choose": lambda self, search: 1 << 70}, OverflowError, ""),
                ({"choose": lambda self, search: "1"}, TypeError, ""),
                ({"choose": lambda self, search: setattr(search, "goal_len", 0)}, ValueError, "it may be 1 to"),
                ({"choose": lambda self, search: setattr(search, "goal_len", 1 << 31)}, ValueError, "it may be 1 to"),
                ({"choose": lambda self, search: search.group(-1)}, ValueError, "it may be 0 to 31"),
                ({"choose": lambda self, search: search.by_largest(99)}, ValueError, "the order is 99"),
                ({"good": lambda self, search, group: setattr(search, "goal_len", 1)}, AttributeError, "choose"),
                ({"least_free": lambda self, search: -1}, RuntimeError, "")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                churn_sweep().point(policy(**members))

    def test_descriptions_that_break_a_rule(self):
        for members, error, words in (
                ({"name": "legacy"}, e4replay.Error, "there is a policy legacy already"),
                ({"name": "two words"}, e4replay.Error, "name must consist of letters"),
                ({"kernel": "nobody"}, e4replay.Error, "has no rung|no policy"),
                ({"ladder": ("CR0", e4replay.OWN)}, e4replay.Error, "the last rung must walk"),
                ({"ladder": ("CR0", "CR3")}, ValueError, "no place for its rung"),
                ({"ladder": ("CR9", e4replay.OWN, "CR3")}, e4replay.Error, "has no rung CR9"),
                ({"criterion": "CR0"}, e4replay.Error, "two rungs count for CR0"),
                ({"scan": "x"}, e4replay.Error, "give chunks or extents"),
                ({"lengths": "x"}, e4replay.Error, "give all, long_ones or long_runs")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                churn_sweep().point(policy(**members))
        with self.assertRaisesRegex(NotImplementedError, "has no method good"):
            churn_sweep().point(e4replay.Policy())

    def test_an_allocator_is_not_entered_twice(self):
        allocator = None

        def good(self, search, group):
            allocator.commit()

        mine = policy(good=good, ladder=(e4replay.OWN, "CR3"))
        allocator = e4replay.Allocator(churn(), mine, loaded=True)
        with self.assertRaisesRegex(e4replay.Error, "the allocator is at work in another call"):
            allocator.allocate(100, 8)
        self.assertEqual(allocator.check(), [])


if __name__ == "__main__":
    unittest.main()
