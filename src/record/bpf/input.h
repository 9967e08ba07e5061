/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef E4R_RECORD_BPF_INPUT_H
#define E4R_RECORD_BPF_INPUT_H

/*
 * The message of the BPF program (inputs.bpf.c) to the recorder for each request and each closing
 * event. Both sides compile it, so all members have fixed widths.
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

#endif
