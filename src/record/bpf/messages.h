/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef E4R_RECORD_BPF_MESSAGES_H
#define E4R_RECORD_BPF_MESSAGES_H

/*
 * The messages of the BPF programs to the recorder, and the programs' settings. Both sides compile
 * this file, so all members have fixed widths.
 */

#ifdef __cplusplus
#include <cstdint>
using e4r_u64 = std::uint64_t;
using e4r_u32 = std::uint32_t;
using e4r_s32 = std::int32_t;
#else
#include <linux/types.h>
typedef __u64 e4r_u64;
typedef __u32 e4r_u32;
typedef __s32 e4r_s32;
#endif

/* The message of inputs.bpf.c for each request and each closing event. */
enum e4r_input_kind {
  E4R_INPUT_REQUEST = 1, /* ext4_request_blocks */
  E4R_INPUT_CLOSING = 2, /* ext4_mballoc_alloc, ext4_mballoc_prealloc */
};

struct e4r_input {
  e4r_u64 time_ns; /* by the recorder's clock */
  e4r_u64 ino;
  e4r_u64 i_size;       /* request: bytes */
  e4r_u64 group_offset; /* closing: per-CPU offset of the locality group; 0: none was used */
  e4r_u32 kind;
  e4r_u32 cpu; /* the event's CPU */
  e4r_u32 pid; /* the thread's id */
  e4r_u32 logical;
  e4r_u32 len;           /* request: blocks; closing: requested clusters */
  e4r_u32 orig_goal_len; /* closing: clusters of the goal before trimming; 0: unknown */
  e4r_s32 i_writecount;  /* request */
  e4r_u32 unused;
};

/* Set before the program is loaded. */
struct e4r_input_settings {
  e4r_u32 dev;       /* major << 20 | minor */
  e4r_u32 boot_time; /* 1: CLOCK_BOOTTIME, 0: CLOCK_MONOTONIC */
};

/* The messages of memory.bpf.c: what a mounted file system holds only in memory. */
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
