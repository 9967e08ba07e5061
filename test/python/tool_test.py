#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The package gives the same results as the tool."""

import json
import os
import subprocess
import tempfile
import unittest
import warnings

import e4replay
import support
from support import IMAGE, TRACE, churn, churn_sweep, printed, without_times


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.report = churn().replay(["legacy", "cr1.5"], mb_max_to_scan=20)
        cls.words = ["replay", IMAGE, TRACE, "-p", "legacy,cr1.5", "--set", "mb_max_to_scan=20", "--no-progress"]

    def test_json_is_the_tools(self):
        tool = json.loads(printed(*self.words, "--json", "-"))
        self.assertEqual(without_times(json.loads(self.report.json)), without_times(tool))

    def test_text_has_the_tools_rows(self):
        tool = [line for line in printed(*self.words).splitlines() if "extents" in line]
        self.assertGreater(len(tool), 3)
        for line in tool:
            self.assertIn(line, self.report.text.splitlines())

    def test_rows_have_a_figure_for_each_column(self):
        self.assertEqual(self.report.columns, ["recorded", "legacy", "cr1.5"])
        self.assertGreater(len(self.report.rows), 50)
        for figures in self.report.rows.values():
            self.assertEqual(len(figures), 3)
        requests = json.loads(self.report.json)["runs"][0]["requests"]
        self.assertEqual(self.report["requests"][1], requests)
        with self.assertRaises(KeyError):
            self.report["no such row"]

    def test_rows_are_those_of_the_document(self):
        runs = json.loads(self.report.json)["runs"]
        for key, figures in self.report.rows.items():
            for run, figure in zip(runs, figures[1:]):
                found = run
                for level in key.split("/"):
                    found = found.get(level) if found is not None else None
                self.assertEqual(found, figure, key)

    def test_a_table_is_what_pandas_takes(self):
        table = self.report.table()
        self.assertLess(len(table), len(self.report.table(all=True)))
        for row in table:
            self.assertEqual(list(row), ["key", "section", "label", "better", "start", *self.report.columns])
        self.assertIn("<table>", self.report._repr_html_())

    def test_tunables_decide(self):
        other = churn().replay(["legacy"])
        self.assertNotEqual(other["mb_stats/extents_scanned"][1], self.report["mb_stats/extents_scanned"][1])

    def test_the_same_policy_twice_has_two_columns(self):
        self.assertEqual(churn().replay(["legacy", "legacy"]).columns, ["recorded", "legacy", "legacy (2)"])

    def test_verify_is_the_tools(self):
        report = churn().verify()
        tool = json.loads(printed("verify", IMAGE, TRACE, "--json", "-", "--no-progress"))
        self.assertEqual(without_times(json.loads(report.json)), without_times(tool))
        self.assertTrue(report.agreement.complete)
        self.assertIsNone(report.agreement.first)

    def test_a_divergence_is_reported(self):
        report = churn().verify("cr1.5")
        self.assertFalse(report.agrees)
        self.assertLess(report.agreement.identical, report.agreement.decisions)
        self.assertGreater(report.agreement.first.event, 0)
        self.assertNotEqual(report.agreement.first.recorded, report.agreement.first.modelled)

    def test_free_extents_of_a_column(self):
        self.assertEqual(self.report.free_extents("cr1.5").count, self.report["free_extents/count"][2])
        self.assertEqual(self.report.free_extents(1).count, self.report["free_extents/count"][1])
        self.assertGreater(self.report.free_extents_before.count, 0)
        for missing, error in (("nobody", KeyError), (3, IndexError), (-1, IndexError)):
            with self.assertRaises(error):
                self.report.free_extents(missing)


class Sweep(unittest.TestCase):
    def test_a_point_is_the_replays_column(self):
        report = churn().replay(["cr1.5"], mb_cr1_5_max_trim_order=1)
        point = churn_sweep().point("cr1.5", mb_cr1_5_max_trim_order=1)
        self.assertEqual(point.columns, ["cr1.5"])
        for key, figures in point.rows.items():
            if not key.endswith("_s") and "per_s" not in key and "time" not in key:
                self.assertEqual(figures[0], report[key][1], key)


class Captures(unittest.TestCase):
    def test_facts(self):
        self.assertEqual(churn().release, "6.1.192")
        self.assertEqual(churn().tunables["mb_max_to_scan"], 200)
        info = json.loads(churn().verify().json)["trace"]
        self.assertEqual(churn().event_count, info["events"])

    def test_events_are_those_of_the_trace(self):
        events = list(churn().events())
        self.assertEqual(len(events), churn().event_count)
        others = list(e4replay.EventReader(TRACE))
        self.assertEqual(len(others), len(events))
        fields = e4replay.Event._fields
        self.assertGreater(len(fields), 25)
        for one, other in zip(events[:500], others[:500]):
            self.assertEqual([getattr(one, field) for field in fields], [getattr(other, field) for field in fields])
        self.assertIn("CR1", {event.criterion for event in events if event.name == "ext4_mballoc_alloc"})

    def test_what_unpacks_to_far_more_is_read_when_asked_for(self):
        line = b"a-7 [000] ..... 1.000000: ext4_free_inode: dev 8,1 ino 12 uid 0 gid 0 blocks 0 mode 0100644\n"
        with tempfile.TemporaryDirectory() as directory:
            bomb = os.path.join(directory, "bomb.trace.zst")
            subprocess.run(["zstd", "-q", "-o", bomb], input=line * 750000, check=True)
            with self.assertRaisesRegex(e4replay.Error, "any_ratio=True"):
                list(e4replay.EventReader(bomb))
            with self.assertRaisesRegex(e4replay.Error, "any_ratio=True"):
                e4replay.Capture(IMAGE, bomb)
            self.assertEqual(sum(1 for _ in e4replay.EventReader(bomb, any_ratio=True)), 750000)
            self.assertEqual(e4replay.Capture(IMAGE, bomb, any_ratio=True).event_count, 750000)

    def test_a_capture_in_one_file(self):
        full = f"{support.SOURCE}/traces/full.e4c"
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            report = e4replay.Capture(full).replay(["legacy"], force=True)
        tool = json.loads(printed("replay", full, "-p", "legacy", "--json", "-", "--no-progress", "--force"))
        self.assertEqual(without_times(json.loads(report.json)), without_times(tool))
        self.assertLess(len(said), 5)

    def test_freefrag_is_the_tools(self):
        free = e4replay.Image(IMAGE).free_extents()
        tool = json.loads(printed("freefrag", IMAGE, "--json", "-"))
        self.assertEqual(free.blocks, sum(bucket["blocks"] for bucket in tool["free_extents"]["histogram"]))
        self.assertEqual(free.count, tool["free_extents"]["count"])
        self.assertEqual(sum(extents for extents, _ in free.buckets), free.count)

    def test_policies_are_the_tools(self):
        names = [policy.name for policy in e4replay.policies()]
        listed = printed("policies")
        for name in names:
            self.assertIn(name, listed)
        self.assertIn("CR1.5", e4replay.find_policy("cr1.5").rungs)


class Decisions(unittest.TestCase):
    def test_each_is_explained_as_in_the_tool(self):
        decisions = churn_sweep().decisions("cr1.5")
        self.assertEqual(len(decisions), decisions.report["requests"][0])
        explained = printed("replay", IMAGE, TRACE, "-p", "cr1.5", "--explain", "100", "--no-progress")
        decision = next(one for one in decisions if one.number == 100)
        self.assertIn(f"{decision.group}/{decision.start}/{decision.taken}", explained)
        self.assertIn(decision.criterion, explained)

    def test_they_add_up_to_the_report(self):
        decisions = churn_sweep().decisions("legacy")
        columns = decisions.columns()
        examined = sum(columns["extents_examined"])
        self.assertEqual(examined, decisions.report["mb_stats/extents_scanned"][0])
        cr1 = sum(one.success and not one.preallocated and one.criterion == "CR1" for one in decisions)
        self.assertEqual(cr1, decisions.report["mb_stats/cr1_stats/hits"][0])
        self.assertEqual(decisions.table()[7]["ino"], columns["ino"][7])
        self.assertEqual(decisions.criteria[columns["criterion"][7]], decisions[7].criterion)
        self.assertEqual(decisions[-1].event, decisions[len(decisions) - 1].event)
        with self.assertRaises(IndexError):
            decisions[len(decisions)]

    def test_a_recorded_policy_decides_as_recorded(self):
        recorded = [event for event in churn().events() if event.name == "ext4_mballoc_alloc"]
        made = {one.block for one in churn_sweep().decisions("legacy") if not one.preallocated}
        per_group = churn().image.file_system.blocks_per_group
        for event in recorded:
            group, start, _, _ = event.result
            self.assertTrue(any(group * per_group + start + shift in made for shift in range(event.result[2])))


if __name__ == "__main__":
    unittest.main()
