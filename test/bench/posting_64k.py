#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a trace of the CR1.5 posting's workload: 40,000 files with one block of 64 KiB, by 64 threads.

    posting_64k.py IMAGE shared|search TRACE

shared: files take their blocks from preallocations of 512 blocks, as on Linux 6.1.
search: each file makes one search, as the posting's counters show. Its block is at 8 MiB in the file, so the
request is for 128 blocks. No free extent is that long. The unused blocks are freed when the file is closed.
IMAGE is the start image (docs/results/many-writers.md has the command). The model of 6.1 decides. The times in the
trace have no meaning: give `replay --writers` a pace with --think.
"""

import sys

import e4replay

THREADS, FILES, FAR = 64, 40000, 128
FLAGS = {"shared": "HINT_DATA|HINT_GRP_ALLOC", "search": "HINT_DATA|STREAM_ALLOC"}


def main(path, kind, to):
    image = e4replay.Image(path)
    fs = image.file_system
    allocator = e4replay.Allocator(image, "legacy", loaded=True)
    logical = FAR if kind == "search" else 0
    with open(to, "w", encoding="utf-8") as out:
        def event(number, text):
            out.write(f" mkfiles-100 [{number % THREADS:03}] ..... {1 + number / 1e6:.6f}: {text}\n")

        for number in range(FILES):
            thread = number % THREADS
            group = thread % fs.groups
            ino = group * fs.inodes_per_group + THREADS * (2 + number // THREADS) + thread
            goal = fs.first_block + group * fs.blocks_per_group
            made = allocator.allocate(ino, 1, logical=logical, goal=goal, file_size=logical * fs.block_size, cpu=thread)
            allocator.discard(ino)
            assert made.success
            orig = f"{group}/0/1@{logical}"
            searched = f"{made.goal_group}/{made.goal_start}/{made.goal_len}@{logical}"
            result = f"{made.group}/{made.start}/{made.taken}@{logical}"
            about = f"dev 8,1 ino {ino} flags HINT_DATA len 1"
            place = f"lblk {logical} goal {goal} lleft {logical} lright {logical} pleft 0 pright 0"
            event(number, f"ext4_allocate_inode: dev 8,1 ino {ino} dir 2 mode 0100644")
            event(number, f"ext4_request_blocks: {about} {place} ")
            if made.preallocated:
                event(number, f"ext4_mballoc_prealloc: dev 8,1 inode {ino} orig {orig} result {result}")
            else:
                event(number, f"ext4_mballoc_alloc: dev 8,1 inode {ino} orig {orig} goal {searched} result {result} "
                              f"blks {made.extents_examined} grps {made.groups_scanned} cr {made.criterion[2:]} "
                              f"flags {FLAGS[kind]} tail 0 broken 0")
            event(number, f"ext4_allocate_blocks: {about} block {made.block} {place}")
            event(number, f"ext4_discard_preallocations: dev 8,1 ino {ino} len: 0 needed 0")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in ("shared", "search"):
        sys.exit(__doc__.split("\n\n")[1].strip())
    main(*sys.argv[1:])
