#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How does free space age over a month?    month.py disk.img [POLICY]

Each day, 500 files of 4 to 256 clusters are written, and older ones are removed at random.
"""

import random
import sys

import e4replay

draw, files = random.Random(1), list[e4replay.Decision]()
image = e4replay.Image(sys.argv[1])
fs = image.file_system
with e4replay.Allocator(image, sys.argv[2] if len(sys.argv) > 2 else "linux-7.3", loaded=True) as allocator:
    for day in range(1, 31):
        for _ in range(500):
            ino, size = draw.randrange(11, fs.groups * fs.inodes_per_group), draw.randint(4, 256)
            decision = allocator.allocate(ino, size, file_size=size * fs.blocks_per_cluster * fs.block_size)
            allocator.discard(ino)  # the file is closed
            if decision.success:
                files.append(decision)
        for _ in range(len(files) // 3):
            gone = files.pop(draw.randrange(len(files)))
            allocator.free(gone.block, gone.len * fs.blocks_per_cluster)
        allocator.commit()
        free = allocator.free_extents()
        print(f"day {day:2}: {free.count:7,} free extents of {free.average:7,} blocks on average, largest {free.max:,}")
