/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State shared by all parts of the driver, which form one object with the tree's mballoc.c
 * (mballoc.c).
 */
#include <linux/completion.h>
#include <linux/console.h>
#include <linux/file.h>
#include <linux/kernel.h> /* panic_on_warn, in panic.h since 5.14 */
#include <linux/namei.h>
#include <linux/reboot.h>
#include <linux/timer.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 9, 0)
#include <linux/init_syscalls.h>
#else
#include <linux/syscalls.h>
#endif
#include <asm/irq_regs.h>
#include <linux/xarray.h>
#include <generated/utsrelease.h>

#include "e4replay-protocol.h"

#define E4R_MOST_CPUS 4096

static struct {
	struct e4r_shared *shared;
	long parent;	    /* parent process of this kernel */
	bool at_work;	    /* an operation is being performed */
	unsigned int looks; /* timer ticks since it began */
	struct super_block *sb;
	struct super_operations ops; /* those of ext4, except for writing inodes */
	struct xarray inodes;	     /* the stand-ins, by number */
	struct inode *file, *other;  /* owners of freed blocks: file data, others */
	struct ext4_locality_group __percpu *groups_of[E4R_MOST_CPUS];

	const struct e4r_op *request; /* the current request for blocks; NULL: none */
	struct e4r_answer *answer;    /* answer to it */
	u32 visited[E4R_MOST_LOCKED]; /* visits so far of each group in request->locked */

	/* The host decides when commits begin and end. */
	void (*commit_callback)(journal_t *journal, transaction_t *transaction);
	tid_t wanted;	 /* the transaction that must wait; 0: none */
	bool committing; /* a commit has begun and has not ended */
	struct completion reached, go, ended;
} e4r;
