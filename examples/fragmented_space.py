#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much free space is fragmented, and where?    fragmented_space.py disk.img"""

import sys

import e4replay

image = e4replay.Image(sys.argv[1])  # an image, a block device or a capture
allocator = e4replay.Allocator(image, loaded=True)
free, runs = allocator.free_clusters(), allocator.free_runs()
whole = image.free_extents()
print(f"{whole.blocks:,} blocks are free, in {whole.count:,} extents of {whole.average:,} blocks on average")
worst = sorted((free[group] / runs[group], group) for group in range(len(free)) if runs[group] > 0)
for average, group in worst[:10]:
    print(f"group {group:6}: {free[group]:6,} free clusters in {runs[group]:5,} runs of {average:8.1f}")
