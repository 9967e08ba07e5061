// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compiles the tree's own mballoc.c and the driver as one object, so that the driver can call
 * static functions and sees each decision at the tracepoints. Nothing else in the allocator
 * changes.
 */
#include "ext4_jbd2.h"
#include "mballoc.h"
#include <linux/backing-dev.h>
#include <linux/freezer.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <trace/events/ext4.h>

#include "e4replay-state.h"
#include "e4replay-locks.c"

static void e4r_closing(const struct ext4_allocation_context *ac, bool prealloc);
#define trace_ext4_mballoc_alloc(ac) e4r_closing(ac, false)
#define trace_ext4_mballoc_prealloc(ac) e4r_closing(ac, true)

#include "mballoc-tree.c"
#include "e4replay-tree.h"

#include "e4replay-host.c"
#include "e4replay-checksum.c"
#include "e4replay-commits.c"
#include "e4replay-inodes.c"
#include "e4replay-requests.c"
#include "e4replay-memory.c"
#include "e4replay-pretend.c"
#include "e4replay-files.c"
#include "e4replay-driver.c"
