#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel would have laid these files out better?    which_kernel.py run.e4c"""

import sys

import e4replay

RELEASES = ["linux-5.10", "linux-5.15", "linux-6.1", "linux-6.6", "linux-6.12", "linux-7.3"]

report = e4replay.Capture(sys.argv[1]).replay(RELEASES)
extents, examined = report["files/avg_extents"], report["mb_stats/extents_scanned"]
order = sorted(range(len(report.columns)), key=lambda column: extents[column] or 0)
for column in order:
    print(f"{report.columns[column]:14} {extents[column]:8.3f} extents per file, "
          f"{examined[column]:12,} free extents examined")
