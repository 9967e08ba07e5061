// SPDX-License-Identifier: GPL-2.0-or-later
// Files that get aligned blocks or none at all: "[RFC v3 00/11] ext4: Add extsize and forcealign
// support (groundwork for multi block atomic writes)", Ojaswin Mujoo, linux-ext4, 24 March 2025,
// <cover.1742800203.git.ojaswin@linux.ibm.com>. Version 4 (21 July 2025) has no forcealign. Linux
// 7.3 has neither extsize nor forcealign; its atomic writes of several blocks need bigalloc.
//
// What the posting says about a file with forcealign:
//  - extsize, in blocks, is a power of two. ext4_map_blocks() moves the start of a request down to
//    a
//    multiple of extsize. It rounds the length up to a power of two of at least extsize (patch 9).
//    There is no delayed allocation (patch 5). Blocks past the end of the file are kept (patch 6),
//    and only multiples of extsize are freed (patch 11).
//  - The goal is not tried, and there is no group preallocation (patches 1 and 2).
//  - ext4_mb_normalize_request() keeps the request's start and does not shorten it. A preallocation
//    of the inode serves a request only if its blocks are aligned to the request's length.
//    Otherwise the request gets exactly the requested length (patch 2).
//  - Only CR_POWER2_ALIGNED is searched. The buddy's chunks are aligned.
//    ext4_mb_regular_allocator() gives up with ENOSPC when no chunk of the goal is free, when the
//    goal is not a power of two, or when the blocks are not aligned on the device (1 KiB blocks,
//    which begin at block 1) (EXT4_MB_FORCE_ALIGN, patch 8). As for any request, preallocations
//    are then given back and the search is tried again.
// Thus a request of 16 KiB fails when its normalised goal of up to 8 MiB is not free, even if
// shorter extents are free. extsize_trim=1 then searches for the request's own length; this is not
// in the posting.
//
// This model differs from the posting: a tunable decides which files have an extsize. The other
// rules are the rules of 7.3; the posting was for 6.14. `e4replay age` makes requests as
// ext4_map_blocks() does, but a trace's requests do not have that form; they keep their start. The
// search looks for an aligned extent that holds the request. The rest of the extent becomes a
// preallocation of the inode, which serves the following blocks.
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
