/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef E4R_RECORD_BPF_MEMORY_H
#define E4R_RECORD_BPF_MEMORY_H

/*
 * The messages of the BPF program memory.bpf.c to the recorder: what a mounted file system holds
 * only in memory. Both sides compile this file.
 */

#include "input.h"

enum e4r_memory_kind {
  E4R_MEMORY_PREALLOC = 1, /* the preallocations of a group, the newest first */
  E4R_MEMORY_STREAM = 2,   /* the goal of a stream */
  E4R_MEMORY_END = 3,      /* the last message */
};

#define E4R_MEMORY_NO_CPU 0xffffffffu /* the CPU is unknown */

struct e4r_memory {
  e4r_u64 ino; /* of an inode's preallocation; 0: a CPU's */
  e4r_u32 kind;
  e4r_u32 cpu;     /* of a CPU's preallocation, or E4R_MEMORY_NO_CPU */
  e4r_u32 group;   /* prealloc, stream */
  e4r_u32 start;   /* prealloc, stream: cluster in the group; 0 if a stream's goal has none */
  e4r_u32 len;     /* prealloc: clusters */
  e4r_u32 logical; /* prealloc of an inode: file block of its first cluster */
  e4r_u32 index;   /* stream: its number; end: the number of streams */
  e4r_u32 count;   /* end: the number of messages before it that were sent or lost */
};

/* Set before the program is loaded. */
struct e4r_memory_settings {
  e4r_u32 dev;  /* major << 20 | minor */
  e4r_u32 cpus; /* the highest possible CPU, plus 1 */
};

#endif
