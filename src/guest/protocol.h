/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol between e4replay and the driver inside a guest kernel: one file that both map.
 *
 * The host writes an operation into ops[asked % E4R_SLOTS] and increments `asked`. The guest
 * performs it, writes answers[answered % E4R_SLOTS] and increments `answered`. Both counts wrap
 * at 2^32. A side that waits sets `waits` and sleeps on the other side's count (a futex); the side
 * that increments a count wakes the sleeper.
 *
 * Included by the kernel's C and by C++ code. Both sides run on one machine, so numbers have its
 * byte order.
 */
#ifndef E4R_PROTOCOL_H
#define E4R_PROTOCOL_H

#include <linux/types.h>

#define E4R_MAGIC 0x6534726465636964ULL /* "e4rdecid" */
/* Incremented with every change of the protocol. */
#define E4R_PROTOCOL 7

#define E4R_SLOTS 1024u
/* The number of polls before either side sleeps; most decisions take less time. Polling for longer
 * does not pay: on a busy machine a sleeper is woken sooner than a poller gets the processor. */
#define E4R_SPINS 1000u
#define E4R_TEXT_BYTES (8u << 20)

/* A kernel with the driver contains this string, followed by "protocol=N criteria=N
 * release=UTS_RELEASE". */
#define E4R_IDENTITY "e4replay-guest-kernel"

/* Operations. Blocks are numbered from the start of the file system. */
enum e4r_op_kind {
  E4R_MOUNT = 1,    /* text: mount options; cpu: number of possible CPUs, or 0 */
  E4R_ALLOCATE,     /* ext4_mb_new_blocks() */
  E4R_FREE,         /* ext4_free_blocks(): goal, len (blocks); flags: E4R_FREE_* */
  E4R_DISCARD,      /* ext4_discard_preallocations(): ino, len (0: all) */
  E4R_PLANT,        /* makes a preallocation: goal (its first block), len (clusters), before;
                       ino, logical, or with E4R_PLANT_OF_CPU: cpu */
  E4R_TAKE,         /* allocates exactly len clusters from block `goal` on; not counted */
  E4R_PLACE_GROUP,  /* group `goal`; flags: E4R_PLACE_*; len: its first free cluster */
  E4R_PRETEND,      /* len clusters from block `goal` on look in use to the next request; with
                       E4R_PRETEND_FREE: free */
  E4R_LOAD,         /* len groups from group `goal` on: reads bitmaps, makes buddies */
  E4R_READ,         /* len groups from group `goal` on: reads bitmaps only */
  E4R_RECLAIM,      /* drops the buddy of group `goal` from the page cache */
  E4R_MAKE_INODE,   /* ino */
  E4R_DROP_INODE,   /* ino: removes its stand-in */
  E4R_COMMIT_BEGIN, /* closes the running transaction */
  E4R_COMMIT_UNTIL, /* returns the extents that it freed, in order, up to the one with cluster `len`
                       of group `goal` */
  E4R_COMMIT_END,   /* returns the clusters that it freed */
  E4R_READ_FILE,    /* text: a path; the answer's text is its content, `len` bytes */
  E4R_WRITE_FILE,   /* text: a path, a NUL, the new content, a NUL */
  E4R_POWER_OFF,
};

#define E4R_FREE_FILE_DATA 1u /* the blocks belong to a regular file */

#define E4R_PLANT_OF_CPU 1u /* a CPU's preallocation, not an inode's */

#define E4R_PLACE_LARGEST 1u    /* move the group to the end of its list by largest extent */
#define E4R_PLACE_AVERAGE 2u    /* ... of its list by average extent */
#define E4R_PLACE_FIRST_FREE 4u /* lower its first free cluster to `len` */

#define E4R_PRETEND_FREE 1u

#define E4R_MOST_LOCKED 6u
#define E4R_GROUP_LOCKS 128u /* groups whose numbers differ by a multiple of this share a lock */

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
  __u32 extents; /* the file uses extents */
  __u32 locks;   /* record the locks (struct e4r_locks) */
  __u32 before;  /* the number of planted preallocations that precede it on its owner's list */
  /* The effects of requests that run at the same time. Each of the first `locked_count` entries of
   * `locked` is a group whose lock another CPU holds at the visits whose bits are set in `visits`
   * (bit 0: the first). If loses_best is set, another request takes the best extent before the
   * search comes back for it. */
  __u32 locked_count;
  __u32 locked[E4R_MOST_LOCKED];
  __u32 visits[E4R_MOST_LOCKED];
  __u32 loses_best;
  /* If other_stream_goal is set, another search moved the stream's goal after this request read it.
   * This request read the group below, and also the cluster unless the kernel keeps only groups. */
  __u32 other_stream_goal;
  __u32 stream_group, stream_start;
  __u64 held[E4R_GROUP_LOCKS / 64]; /* locks of groups that other CPUs hold, one bit for each */
};

struct e4r_extent {
  __u32 group, start, len, logical; /* start, len: clusters; logical: blocks */
};

/* The parts of an answer: what the decision's tracepoint shows (struct ext4_allocation_context). */
#define E4R_CLOSED 1u   /* the fields of the closing event are set */
#define E4R_PREALLOC 2u /* served from a preallocation */

struct e4r_answer {
  __s32 error; /* 0 or a negative errno */
  __u32 what;
  __u64 block;
  __u32 len;        /* clusters; for a text: bytes */
  __u32 errors;     /* errors of the file system since its mount */
  __u64 ns;         /* time spent in the deciding code */
  __u64 considered; /* groups considered since the mount (sum of s_bal_cX_groups_considered); 0: it
                       does not count them */
  struct e4r_extent orig, goal, result;
  __u32 goal_len; /* before a criterion trimmed it; 0: unknown */
  __u32 found, groups, flags, tail, buddy, criterion;
  __u32 refused; /* how many attempts to lock a group failed */
  __u32 unused[2];
};

/* Operations on a lock. The guest has one CPU, so every attempt succeeds. */
enum e4r_lock_what {
  E4R_LOCK_TAKE = 1,
  E4R_LOCK_SHARE, /* taken as a shared lock */
  E4R_LOCK_SLEEP, /* taken; a waiter would sleep */
  E4R_LOCK_TRY,   /* taken by an attempt that never waits */
  E4R_LOCK_LET_GO,
};

/* With this bit, `lock` is a group's number and means its lock; without it, an address. */
#define E4R_LOCK_OF_GROUP (1ULL << 63)

struct e4r_lock_event {
  __u64 lock;
  __u32 cycles; /* since the request began */
  __u16 name;   /* index in `name` of struct e4r_locks */
  __u16 what;   /* enum e4r_lock_what */
};

#define E4R_LOCK_EVENTS 65536u
#define E4R_LOCK_NAMES 64u
#define E4R_LOCK_NAME_BYTES 64u

/* The lock operations of the last request with `locks` set. */
struct e4r_locks {
  __u32 names; /* number of names so far; names are never removed */
  __u32 events;
  __u32 left_out;                                 /* events that did not fit */
  __u32 cycles_per_us;                            /* times 1024 */
  __u64 cycles;                                   /* duration of the request */
  char name[E4R_LOCK_NAMES][E4R_LOCK_NAME_BYTES]; /* the source's expressions for the locks */
  struct e4r_lock_event event[E4R_LOCK_EVENTS];
};

/* Each count has its own cache line. */
struct e4r_count {
  __u32 value;
  __u32 waits;
  __u32 unused[30];
};

struct e4r_shared {
  __u64 magic;
  __u32 protocol;
  __u32 ready;    /* 1: the guest has mapped this file */
  __u32 version;  /* LINUX_VERSION_CODE of the kernel */
  __u32 criteria; /* number of criteria in its mb_stats; set by the mount */
  struct e4r_count asked, answered;
  struct e4r_op ops[E4R_SLOTS];
  struct e4r_answer answers[E4R_SLOTS];
  struct e4r_locks locks;
  char text[E4R_TEXT_BYTES];
};

#endif
