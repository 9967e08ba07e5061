#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many requests and groups did each file need?    each_file.py run.e4c [POLICY]"""

import collections
import sys

import e4replay

capture = e4replay.Capture(sys.argv[1])
decisions = capture.decisions(sys.argv[2] if len(sys.argv) > 2 else "linux-7.3")
files: dict[int, list[e4replay.Decision]] = collections.defaultdict(list)
for decision in decisions:
    if decision.success:
        files[decision.ino].append(decision)
for ino, own in sorted(files.items(), key=lambda of: -len(of[1]))[:10]:
    groups = {decision.group for decision in own}
    examined = sum(decision.extents_examined for decision in own)
    print(f"inode {ino:8}: {sum(of.len for of in own):7,} clusters by {len(own):4} requests in {len(groups):3} groups, "
          f"{examined:6,} free extents examined")
