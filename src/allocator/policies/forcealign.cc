// SPDX-License-Identifier: GPL-2.0-or-later
// Files whose blocks are aligned or not allocated at all: "[RFC v3 00/11] ext4: Add extsize and
// forcealign support (groundwork for multi block atomic writes)", Ojaswin Mujoo, linux-ext4, 24
// March 2025, <cover.1742800203.git.ojaswin@linux.ibm.com>. Version 4 (21 July 2025) has no
// forcealign. Linux 7.3 has neither; its atomic writes of several blocks need bigalloc.
//
// What the posting says of a file with forcealign:
//  - extsize is a power of two of blocks. ext4_map_blocks() moves the start of a request down to a
//    multiple of extsize and rounds the length up to a power of two, and at least to extsize
//    (patch 9). There is no delayed allocation (patch 5). Blocks behind the end of the file stay
//    (patch 6), and only multiples of extsize are freed (patch 11).
//  - The goal is not tried, and there is no group preallocation (patches 1 and 2).
//  - ext4_mb_normalize_request() keeps the request's start and makes it no shorter. A preallocation
//    of the inode serves a request only where its blocks are aligned to the request's length. Else
//    the request gets exactly what it asks for (patch 2).
//  - CR_POWER2_ALIGNED is searched and nothing else. The buddy's chunks are aligned. When no chunk
//    of the goal is free, the goal is no power of two, or the blocks are not aligned on the device
//    (1 KiB blocks, which begin at block 1), ext4_mb_regular_allocator() gives up with ENOSPC
//    (EXT4_MB_FORCE_ALIGN, patch 8). Preallocations are given back, and it tries again, as for any
//    request.
// So a request of 16 KiB fails when its normalised goal, up to 8 MiB, is not to be had, whatever
// shorter extents are free. extsize_trim=1 searches for the request's own length then; this is not
// in the posting.
//
// What is ours: which files have an extsize is a tunable. The rules are those of 7.3, where the
// posting was for 6.14. `e4replay age` asks as ext4_map_blocks() does. The requests of a trace are
// not of that form. They begin where they began, an aligned extent is searched that holds them, and
// what is left of it is kept as the inode's preallocation, which serves what comes behind.
#include "allocator/policy.h"
#include "allocator/rungs.h"

namespace e4r::allocator::policies_of_files {

extern const Policy forcealign = {
    .name = "forcealign",
    .summary = "7.3, where files get blocks that are aligned to their extsize, or none",
    .source =
        "linux-ext4, 24 March 2025: \"[RFC v3 00/11] ext4: Add extsize and forcealign support\"",
    .ladder = kBestAvailLadder,
    .kernel = kLinux7_3Forcealign,
    .may_refuse = true,
};

}  // namespace e4r::allocator::policies_of_files
