#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Would a tunable help?    which_tunable.py run.e4c"""

import sys

import e4replay

capture = e4replay.Capture(sys.argv[1])
sweep = capture.sweep()
values = {"mb_max_to_scan": (10, 200, 4000), "mb_min_to_scan": (10, 100), "mb_stripe": (0, 64, 512)}
for name in values:
    for value in values[name]:
        point = sweep.point("linux-6.12", **{name: value})
        extents, examined = point["files/avg_extents"][0], point["mb_stats/extents_scanned"][0]
        recorded = " (as recorded)" if capture.tunables.get(name) == value else ""
        print(f"{name:15} {value:5}: {extents:.3f} extents per file, {examined:,} free extents examined{recorded}")
