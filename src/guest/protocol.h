/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What e4replay and the driver inside a guest kernel say to each other: one file that both map.
 *
 * The host writes an operation into ops[asked % E4R_SLOTS] and counts `asked` up; the guest does
 * it, writes answers[answered % E4R_SLOTS] and counts `answered` up. Both counts are modulo 2^32.
 * Whoever waits says so in `waits` and sleeps on the other's count (a futex); whoever counts up
 * wakes him.
 *
 * Included by C of the kernel and by C++. Numbers have the machine's byte order: both sides run on
 * it.
 */
#ifndef E4R_PROTOCOL_H
#define E4R_PROTOCOL_H

#include <linux/types.h>

#define E4R_MAGIC 0x6534726465636964ULL /* "e4rdecid" */
/* Counts up with every change of this file. */
#define E4R_PROTOCOL 2

#define E4R_SLOTS 1024u
/* How often either side looks before it sleeps: longer than most decisions take. On a busy machine
 * somebody who sleeps is woken sooner than somebody who looks is given the processor. */
#define E4R_SPINS 1000u
#define E4R_TEXT_BYTES (8u << 20)

/* The file of a kernel with the driver has this in it, and "protocol=N criteria=N
 * release=UTS_RELEASE". */
#define E4R_IDENTITY "e4replay-guest-kernel"

/* Operations. "Clusters" are the file system's; blocks are counted from its start. */
enum e4r_op_kind {
  E4R_MOUNT = 1,    /* text: options of the mount; cpu: how many CPUs were possible, or 0 */
  E4R_ALLOCATE,     /* ext4_mb_new_blocks() */
  E4R_FREE,         /* ext4_free_blocks(): goal, len (blocks); flags: E4R_FREE_* */
  E4R_DISCARD,      /* ext4_discard_preallocations(): ino, len (0: all) */
  E4R_LOAD,         /* len groups from `goal` on: bitmaps read, buddies made */
  E4R_READ,         /* likewise, bitmaps only */
  E4R_MAKE_INODE,   /* ino */
  E4R_DROP_INODE,   /* ino: what stands for it goes */
  E4R_COMMIT_BEGIN, /* the running transaction takes no more */
  E4R_COMMIT_END,   /* its frees are given back */
  E4R_READ_FILE,    /* text: a path; the answer's text is its content, `len` bytes */
  E4R_WRITE_FILE,   /* text: a path, a NUL, what to write, a NUL */
  E4R_POWER_OFF,
};

#define E4R_FREE_FILE_DATA 1u /* of a regular file */

struct e4r_op {
  __u32 kind;
  __u32 flags; /* of the request, as in struct ext4_allocation_request */
  __u64 ino;
  __u64 goal;
  __u64 pleft, pright;
  __u64 i_size;
  __u32 len; /* clusters */
  __u32 logical;
  __u32 lleft, lright;
  __u32 writers; /* i_writecount */
  __u32 mode;    /* i_mode */
  __u32 cpu;
  __u32 extents; /* the file is mapped by extents */
  __u32 locks;   /* note them (struct e4r_locks) */
  __u32 unused[7];
};

struct e4r_extent {
  __u32 group, start, len, logical; /* start, len: clusters; logical: blocks */
};

/* What the decision showed at its tracepoint (struct ext4_allocation_context). */
#define E4R_CLOSED 1u   /* the rest of `struct e4r_answer` is filled */
#define E4R_PREALLOC 2u /* served from a preallocation */

struct e4r_answer {
  __s32 error; /* 0, or an errno's negative */
  __u32 what;
  __u64 block;
  __u32 len;        /* clusters; of a text: bytes */
  __u32 errors;     /* that the file system has met since it was mounted */
  __u64 ns;         /* in the code that decides */
  __u64 considered; /* groups, since the mount (the criteria's s_bal_cX_groups_considered) */
  struct e4r_extent orig, goal, result;
  __u32 goal_len; /* before a rung trimmed it; 0: not known */
  __u32 found, groups, flags, tail, buddy, criterion;
  __u32 unused[3];
};

/* What was done to a lock. This kernel has one CPU: all that is tried succeeds. */
enum e4r_lock_what {
  E4R_LOCK_TAKE = 1,
  E4R_LOCK_SHARE, /* with others who share it */
  E4R_LOCK_SLEEP, /* taken; who waits for it sleeps */
  E4R_LOCK_TRY,   /* taken; nobody waits for it */
  E4R_LOCK_LET_GO,
};

/* In `lock`: the lock of the group of this number. Else `lock` is an address. */
#define E4R_LOCK_OF_GROUP (1ULL << 63)

struct e4r_lock_event {
  __u64 lock;
  __u32 cycles; /* since the request began */
  __u16 name;   /* of `struct e4r_locks` */
  __u16 what;   /* enum e4r_lock_what */
};

#define E4R_LOCK_EVENTS 65536u
#define E4R_LOCK_NAMES 64u
#define E4R_LOCK_NAME_BYTES 64u

/* The locks of the last request that asked for them. */
struct e4r_locks {
  __u32 names; /* so far; they stay */
  __u32 events;
  __u32 left_out;                                 /* events for which there was no room */
  __u32 cycles_per_us;                            /* times 1024 */
  __u64 cycles;                                   /* that the request took */
  char name[E4R_LOCK_NAMES][E4R_LOCK_NAME_BYTES]; /* as the source calls the locks */
  struct e4r_lock_event event[E4R_LOCK_EVENTS];
};

/* Each count has a line of the cache of its own. */
struct e4r_count {
  __u32 value;
  __u32 waits;
  __u32 unused[30];
};

struct e4r_shared {
  __u64 magic;
  __u32 protocol;
  __u32 ready;    /* 1: the guest has mapped this file */
  __u32 version;  /* of the kernel: LINUX_VERSION_CODE */
  __u32 criteria; /* that its mb_stats count; once mounted */
  struct e4r_count asked, answered;
  struct e4r_op ops[E4R_SLOTS];
  struct e4r_answer answers[E4R_SLOTS];
  struct e4r_locks locks;
  char text[E4R_TEXT_BYTES];
};

#endif
