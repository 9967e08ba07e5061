#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples in Python run on bundled captures, and print the same figures as the tool."""

import json
import os
import re
import subprocess
import sys
import unittest

import e4replay
import support
from support import printed

CHURN = f"{support.SOURCE}/traces/churn-4k.e4c"


def example(name, *words):
    done = subprocess.run([sys.executable, "-B", f"{support.SOURCE}/examples/{name}.py", *words],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.splitlines()


def number(text):
    return int(text.replace(",", ""))


class Examples(unittest.TestCase):
    def test_which_kernel(self):
        lines = [re.fullmatch(r"(\S+) +([0-9.]+) extents per file, +([0-9,]+) free extents examined", line)
                 for line in example("which_kernel", CHURN)]
        document = json.loads(printed("replay", CHURN, "-p", "linux-5.10,linux-7.3", "--json", "-", "--no-progress"))
        found = {line[1]: line for line in lines}
        self.assertEqual(len(found), 7)
        self.assertEqual([line[2] for line in lines], sorted(line[2] for line in lines))
        for run in document["runs"]:
            line = found[run["policy"]]
            self.assertEqual(line[2], f"{run['files']['avg_extents']:.3f}")
            self.assertEqual(number(line[3]), run["mb_stats"]["extents_scanned"])

    def test_fragmented_space(self):
        first, *groups = example("fragmented_space", support.IMAGE)
        said = re.match(r"([0-9,]+) blocks are free, in ([0-9,]+) extents", first)
        free = printed("freefrag", support.IMAGE)
        self.assertEqual(number(said[1]), int(re.search(r"^Free blocks: (\d+)", free, re.M)[1]))
        self.assertEqual(number(said[2]), e4replay.Image(support.IMAGE).free_extents().count)
        self.assertEqual(len(groups), 10)
        averages = [float(line.rsplit(" ", 1)[1]) for line in groups]
        self.assertEqual(averages, sorted(averages))

    def test_which_tunable(self):
        lines = example("which_tunable", CHURN)
        self.assertEqual(len(lines), 8)
        self.assertEqual(sum(line.endswith("(as recorded)") for line in lines), 3)
        run = json.loads(printed("replay", CHURN, "-p", "linux-6.12", "--set", "mb_max_to_scan=10", "--json", "-",
                                 "--no-progress"))["runs"][0]
        self.assertIn(f"{run['mb_stats']['extents_scanned']:,} free extents examined", lines[0])
        self.assertIn(f" {run['files']['avg_extents']:.3f} extents per file", lines[0])

    def test_each_file(self):
        lines = [re.fullmatch(r"inode +(\d+): +([0-9,]+) clusters by +(\d+) requests in +(\d+) groups, "
                              r" *([0-9,]+) free extents examined", line) for line in example("each_file", CHURN)]
        self.assertEqual(len(lines), 10)
        counts = [int(line[3]) for line in lines]
        self.assertEqual(counts, sorted(counts, reverse=True))
        own = [decision for decision in support.churn().decisions("linux-7.3")
               if decision.success and decision.ino == int(lines[0][1])]
        self.assertEqual(len(own), counts[0])
        self.assertEqual(sum(decision.len for decision in own), number(lines[0][2]))

    def test_month(self):
        lines = [re.fullmatch(r"day +(\d+): +([0-9,]+) free extents of +([0-9,]+) blocks on average, "
                              r"largest ([0-9,]+)", line) for line in example("month", support.IMAGE)]
        self.assertEqual([int(line[1]) for line in lines], list(range(1, 31)))
        before = e4replay.Image(support.IMAGE).free_extents()
        self.assertLess(number(lines[-1][3]), before.average)
        self.assertEqual(example("month", support.IMAGE), [line[0] for line in lines])
        # This file system becomes full.
        self.assertEqual(len(example("month", f"{support.SOURCE}/traces/cr5-64m.e4c", "legacy")), 30)

    def test_a_missing_input_is_reported(self):
        for name in ("which_kernel", "fragmented_space", "which_tunable", "each_file", "month"):
            done = subprocess.run([sys.executable, "-B", f"{support.SOURCE}/examples/{name}.py", "/nowhere.e4c"],
                                  capture_output=True, text=True, check=False, env={**os.environ})
            self.assertEqual(done.returncode, 1)
            self.assertIn("/nowhere.e4c", done.stderr)


if __name__ == "__main__":
    unittest.main()
