// SPDX-License-Identifier: GPL-2.0-only
/*
 * e4replay's driver: the block allocator of this kernel decides requests that a process of the host
 * hands over. It runs as the last initcall of a User Mode Linux kernel, mounts the disk that the
 * kernel was given and does one operation after the other until the host ends it. There is no user
 * space. One file for all trees from 6.1 on, compiled together with their mballoc.c.
 *
 * Requests are made for stand-ins of the recorded inodes: inodes in memory alone, with the number,
 * the mode, the size and the writers that decide.
 */
#include <linux/completion.h>
#include <linux/console.h>
#include <linux/file.h>
#include <linux/init_syscalls.h>
#include <linux/namei.h>
#include <linux/reboot.h>
#include <linux/version.h>
#include <linux/xarray.h>
#include <generated/utsrelease.h>

#include "e4replay-protocol.h"

/* What the file of this kernel says of itself to who looks at it without starting it. */
#define E4R_TEXT(x) #x
#define E4R_NUMBER(x) E4R_TEXT(x)
const char e4r_identity[] __used =
	E4R_IDENTITY " protocol=" E4R_NUMBER(E4R_PROTOCOL) " release=" UTS_RELEASE "\n";

#define E4R_DISK_MAJOR 98 /* ubd */
#define E4R_PARTITIONS 16 /* minors of one ubd disk */
#define E4R_DIRECTORY "/e4replay"
#define E4R_MOST_CPUS 4096

/* The kernel runs as a process of the host and is linked with its C library. */
extern int open(const char *path, int flags, ...);
extern void *mmap(void *address, unsigned long bytes, int protection, int flags, int fd,
		  long offset);
extern long syscall(long number, ...);
extern long write(int fd, const void *bytes, unsigned long count);
#define E4R_HOST_O_RDWR 2
#define E4R_HOST_PROT_READ_WRITE 3
#define E4R_HOST_MAP_SHARED 1
#define E4R_HOST_GETPPID 110 /* x86-64 */
#define E4R_HOST_FUTEX 202
#define E4R_HOST_FUTEX_WAIT 0
#define E4R_HOST_FUTEX_WAKE 1

static char e4r_path[64];
static int __init e4r_set_path(char *value)
{
	strscpy(e4r_path, value, sizeof(e4r_path));
	return 1;
}
__setup("e4replay=", e4r_set_path);

static struct {
	struct e4r_shared *shared;
	long parent; /* of this kernel's process */
	struct super_block *sb;
	struct super_operations ops; /* ext4's, without those that write inodes */
	struct xarray inodes;	     /* the stand-ins, by number */
	struct inode *file, *other;  /* whose blocks are freed: a file's, others' */
	struct ext4_locality_group __percpu *groups_of[E4R_MOST_CPUS];

	struct e4r_answer *answer; /* of the operation under way; NULL: none */

	/* Commits begin and end where the host says. */
	void (*commit_callback)(journal_t *journal, transaction_t *transaction);
	tid_t wanted;	 /* the transaction that is to wait; 0: none */
	bool committing; /* it has been asked to commit, and has not ended */
	struct completion reached, go, ended;
} e4r;

/* ---- What the kernel prints goes to the host's standard error. */

static void e4r_print(struct console *console, const char *text, unsigned int length)
{
	write(2, text, length);
}

static struct console e4r_console = {
	.name = "e4replay",
	.write = e4r_print,
	.flags = CON_PRINTBUFFER | CON_ENABLED,
	.index = -1,
};

/* ---- What the decision under way shows. */

static void e4r_extent(struct e4r_extent *to, const struct ext4_free_extent *from)
{
	to->group = from->fe_group;
	to->start = from->fe_start;
	to->len = from->fe_len;
	to->logical = from->fe_logical;
}

static void e4r_closing(const struct ext4_allocation_context *ac, bool prealloc)
{
	struct e4r_answer *a = e4r.answer;

	if (!a)
		return;
	a->what = E4R_CLOSED | (prealloc ? E4R_PREALLOC : 0);
	e4r_extent(&a->orig, &ac->ac_o_ex);
	e4r_extent(&a->goal, &ac->ac_g_ex);
	e4r_extent(&a->result, prealloc ? &ac->ac_b_ex : &ac->ac_f_ex);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	a->goal_len = ac->ac_orig_goal_len;
#endif
	a->found = ac->ac_found;
	a->groups = ac->ac_groups_scanned;
	a->flags = ac->ac_flags;
	a->tail = ac->ac_tail;
	a->buddy = ac->ac_buddy;
	a->criterion = ac->ac_criteria;
}

static u64 e4r_considered(void)
{
	struct ext4_sb_info *sbi = EXT4_SB(e4r.sb);
	u64 sum = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(sbi->s_bal_cX_groups_considered); i++)
		sum += atomic64_read(&sbi->s_bal_cX_groups_considered[i]);
	return sum;
}

/* ---- Commits. */

/* Called once a transaction is on disk, by the thread that commits. */
static void e4r_committed(journal_t *journal, transaction_t *transaction)
{
	bool ours = e4r.wanted && transaction->t_tid == e4r.wanted;

	if (ours) {
		complete(&e4r.reached);
		wait_for_completion(&e4r.go);
	}
	e4r.commit_callback(journal, transaction);
	if (ours)
		complete(&e4r.ended);
}

static int e4r_commit_end(void)
{
	if (!e4r.committing)
		return 0;
	complete(&e4r.go);
	wait_for_completion(&e4r.ended);
	e4r.committing = false;
	e4r.wanted = 0;
	return 0;
}

static int e4r_commit_begin(void)
{
	journal_t *journal = EXT4_SB(e4r.sb)->s_journal;
	tid_t running = 0;

	if (!journal)
		return 0;
	e4r_commit_end();
	read_lock(&journal->j_state_lock);
	if (journal->j_running_transaction)
		running = journal->j_running_transaction->t_tid;
	read_unlock(&journal->j_state_lock);
	if (!running)
		return 0;
	reinit_completion(&e4r.reached);
	reinit_completion(&e4r.go);
	reinit_completion(&e4r.ended);
	e4r.wanted = running;
	jbd2_log_start_commit(journal, running);
	wait_for_completion(&e4r.reached);
	e4r.committing = true;
	return 0;
}

/* ---- Stand-ins for inodes. */

static struct inode *e4r_new_inode(u64 number, umode_t mode)
{
	struct inode *inode = new_inode(e4r.sb);

	if (!inode)
		return NULL;
	inode->i_ino = number;
	inode->i_mode = mode;
	EXT4_I(inode)->i_block_group = (number - 1) / EXT4_INODES_PER_GROUP(e4r.sb);
	return inode;
}

static struct inode *e4r_inode(u64 number, umode_t mode)
{
	struct inode *inode = xa_load(&e4r.inodes, number);

	if (inode)
		return inode;
	inode = e4r_new_inode(number, mode);
	if (inode && xa_err(xa_store(&e4r.inodes, number, inode, GFP_KERNEL))) {
		iput(inode);
		return NULL;
	}
	return inode;
}

static int e4r_drop_inode(u64 number)
{
	struct inode *inode = xa_erase(&e4r.inodes, number);

	if (inode)
		iput(inode); /* gives its preallocations back */
	return 0;
}

/* A group whose first inode is made has a bitmap of blocks from then on. */
static int e4r_make_inode(u64 number)
{
	struct super_block *sb = e4r.sb;
	ext4_group_t group = (number - 1) / EXT4_INODES_PER_GROUP(sb);
	struct ext4_group_desc *desc;
	struct buffer_head *bitmap, *table;
	handle_t *handle;
	int err;

	e4r_drop_inode(number);
	if (group >= ext4_get_groups_count(sb) || !ext4_has_group_desc_csum(sb))
		return 0;
	desc = ext4_get_group_desc(sb, group, &table);
	if (!desc || !(desc->bg_flags & cpu_to_le16(EXT4_BG_BLOCK_UNINIT)))
		return 0;
	bitmap = ext4_read_block_bitmap(sb, group);
	if (IS_ERR(bitmap))
		return PTR_ERR(bitmap);
	handle = ext4_journal_start_sb(sb, EXT4_HT_INODE, 4);
	err = PTR_ERR_OR_ZERO(handle);
	if (err)
		goto out;
	err = ext4_journal_get_write_access(handle, sb, bitmap, EXT4_JTR_NONE);
	if (!err)
		err = ext4_journal_get_write_access(handle, sb, table, EXT4_JTR_NONE);
	if (!err) {
		ext4_lock_group(sb, group);
		desc->bg_flags &= cpu_to_le16(~EXT4_BG_BLOCK_UNINIT);
		ext4_free_group_clusters_set(sb, desc,
					     ext4_free_clusters_after_init(sb, group, desc));
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
		ext4_block_bitmap_csum_set(sb, desc, bitmap);
#else
		ext4_block_bitmap_csum_set(sb, group, desc, bitmap);
#endif
		ext4_group_desc_csum_set(sb, group, desc);
		ext4_unlock_group(sb, group);
		err = ext4_handle_dirty_metadata(handle, NULL, bitmap);
		if (!err)
			err = ext4_handle_dirty_metadata(handle, NULL, table);
	}
	ext4_journal_stop(handle);
out:
	brelse(bitmap);
	return err;
}

/* ---- Requests. */

/* The locality group of the CPU that the request was recorded on. */
static int e4r_use_cpu(unsigned int cpu)
{
	struct ext4_locality_group __percpu *of;
	struct ext4_locality_group *group;
	int i;

	cpu = min_t(unsigned int, cpu, E4R_MOST_CPUS - 1);
	of = e4r.groups_of[cpu];
	if (!of) {
		of = alloc_percpu(struct ext4_locality_group);
		if (!of)
			return -ENOMEM;
		group = raw_cpu_ptr(of);
		mutex_init(&group->lg_mutex);
		for (i = 0; i < PREALLOC_TB_SIZE; i++)
			INIT_LIST_HEAD(&group->lg_prealloc_list[i]);
		spin_lock_init(&group->lg_prealloc_lock);
		e4r.groups_of[cpu] = of;
	}
	EXT4_SB(e4r.sb)->s_locality_groups = of;
	return 0;
}

static int e4r_allocate(const struct e4r_op *op, struct e4r_answer *a)
{
	struct inode *inode = e4r_inode(op->ino, op->mode);
	struct ext4_allocation_request ar = {
		.inode = inode,
		.len = op->len,
		.logical = op->logical,
		.lleft = op->lleft,
		.lright = op->lright,
		.goal = op->goal,
		.pleft = op->pleft,
		.pright = op->pright,
		.flags = op->flags,
	};
	handle_t *handle;
	int err;
	u64 began;

	if (!inode)
		return -ENOMEM;
	inode->i_mode = op->mode;
	i_size_write(inode, op->i_size);
	atomic_set(&inode->i_writecount, op->writers);
	if (op->extents)
		ext4_set_inode_flag(inode, EXT4_INODE_EXTENTS);
	else
		ext4_clear_inode_flag(inode, EXT4_INODE_EXTENTS);
	err = e4r_use_cpu(op->cpu);
	if (err)
		return err;
	handle = ext4_journal_start_sb(e4r.sb, EXT4_HT_MAP_BLOCKS, 8);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	e4r.answer = a;
	began = ktime_get_ns();
	a->block = ext4_mb_new_blocks(handle, &ar, &err);
	a->ns = ktime_get_ns() - began;
	e4r.answer = NULL;
	ext4_journal_stop(handle);
	a->len = ar.len;
	a->considered = e4r_considered();
	return err;
}

static int e4r_free(const struct e4r_op *op, struct e4r_answer *a)
{
	bool data = op->flags & E4R_FREE_FILE_DATA;
	handle_t *handle;
	u64 began;

	handle = ext4_journal_start_sb(e4r.sb, EXT4_HT_TRUNCATE, 16);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	began = ktime_get_ns();
	ext4_free_blocks(handle, data ? e4r.file : e4r.other, NULL, op->goal, op->len,
			 data ? 0 : EXT4_FREE_BLOCKS_METADATA);
	a->ns = ktime_get_ns() - began;
	ext4_journal_stop(handle);
	return 0;
}

static int e4r_discard(const struct e4r_op *op)
{
	struct inode *inode = xa_load(&e4r.inodes, op->ino);

	if (!inode)
		return 0;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	ext4_discard_preallocations(inode, op->len);
#else
	ext4_discard_preallocations(inode);
#endif
	return 0;
}

static int e4r_load(const struct e4r_op *op)
{
	ext4_group_t group = op->goal, last = op->goal + op->len;
	struct buffer_head *bitmap;
	struct ext4_buddy e4b;
	int err;

	if (last > ext4_get_groups_count(e4r.sb))
		return -EINVAL;
	for (; group < last; group++) {
		if (op->kind == E4R_READ) {
			bitmap = ext4_read_block_bitmap(e4r.sb, group);
			if (IS_ERR(bitmap))
				return PTR_ERR(bitmap);
			brelse(bitmap);
		} else {
			err = ext4_mb_load_buddy(e4r.sb, group, &e4b);
			if (err)
				return err;
			ext4_mb_unload_buddy(&e4b);
		}
		cond_resched();
	}
	return 0;
}

/* ---- Files of proc and sysfs. */

static int e4r_read_file(struct e4r_answer *a)
{
	struct e4r_shared *s = e4r.shared;
	struct file *file = filp_open(s->text, O_RDONLY, 0);
	loff_t pos = 0;
	ssize_t got = 0;

	if (IS_ERR(file))
		return PTR_ERR(file);
	while (pos < E4R_TEXT_BYTES) {
		got = kernel_read(file, s->text + pos, E4R_TEXT_BYTES - pos, &pos);
		if (got <= 0)
			break;
		cond_resched();
	}
	filp_close(file, NULL);
	if (got < 0)
		return got;
	if (pos >= E4R_TEXT_BYTES)
		return -EFBIG;
	a->len = pos;
	return 0;
}

static int e4r_write_file(void)
{
	const char *value = e4r.shared->text + strlen(e4r.shared->text) + 1;
	struct file *file = filp_open(e4r.shared->text, O_WRONLY, 0);
	loff_t pos = 0;
	ssize_t put;

	if (IS_ERR(file))
		return PTR_ERR(file);
	put = kernel_write(file, value, strlen(value), &pos);
	filp_close(file, NULL);
	return put < 0 ? put : 0;
}

/* ---- The mount. */

static int __ref e4r_make_places(void)
{
	int disk, err = 0;

	init_mkdir("/dev", 0755);
	init_mkdir("/proc", 0755);
	init_mkdir("/sys", 0755);
	init_mkdir(E4R_DIRECTORY, 0755);
	for (disk = 0; disk < 2 && !err; disk++)
		err = init_mknod(disk ? "/dev/ubdb" : "/dev/ubda", S_IFBLK | 0600,
				 new_encode_dev(MKDEV(E4R_DISK_MAJOR, disk * E4R_PARTITIONS)));
	if (!err)
		err = init_mount("proc", "/proc", "proc", 0, NULL);
	if (!err)
		err = init_mount("sysfs", "/sys", "sysfs", 0, NULL);
	return err;
}

/* Streams of 6.17 and later are spread over the CPUs that the recorded machine could have had. */
static int e4r_spread_streams(unsigned int possible)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
	struct ext4_sb_info *sbi = EXT4_SB(e4r.sb);
	unsigned int goals = min(possible, DIV_ROUND_UP(sbi->s_groups_count, 4));
	ext4_group_t *last;

	if (!goals || goals == sbi->s_mb_nr_global_goals)
		return 0;
	last = kcalloc(goals, sizeof(*last), GFP_KERNEL);
	if (!last)
		return -ENOMEM;
	kfree(sbi->s_mb_last_groups);
	sbi->s_mb_last_groups = last;
	sbi->s_mb_nr_global_goals = goals;
#endif
	return 0;
}

static int __ref e4r_mount(const struct e4r_op *op)
{
	struct path path;
	journal_t *journal;
	int err = init_mount("/dev/ubda", E4R_DIRECTORY, "ext4", 0, e4r.shared->text);

	if (err)
		return err;
	err = kern_path(E4R_DIRECTORY, LOOKUP_FOLLOW, &path);
	if (err)
		return err;
	e4r.sb = path.dentry->d_sb;
	e4r.groups_of[0] = EXT4_SB(e4r.sb)->s_locality_groups;
	e4r.ops = *e4r.sb->s_op;
	e4r.ops.dirty_inode = NULL;
	e4r.ops.write_inode = NULL;
	e4r.sb->s_op = &e4r.ops;
	journal = EXT4_SB(e4r.sb)->s_journal;
	if (journal) {
		e4r.commit_callback = journal->j_commit_callback;
		journal->j_commit_callback = e4r_committed;
	}
	EXT4_SB(e4r.sb)->s_mb_stats = 1;
	e4r.file = e4r_new_inode(EXT4_FIRST_INO(e4r.sb), S_IFREG | 0600);
	e4r.other = e4r_new_inode(EXT4_FIRST_INO(e4r.sb), S_IFDIR | 0700);
	if (!e4r.file || !e4r.other)
		return -ENOMEM;
	e4r.shared->criteria = ARRAY_SIZE(EXT4_SB(e4r.sb)->s_bal_cX_hits);
	return e4r_spread_streams(op->cpu);
}

/* ---- One operation after the other. */

static int e4r_do(const struct e4r_op *op, struct e4r_answer *a)
{
	if (!e4r.sb && op->kind != E4R_MOUNT && op->kind != E4R_POWER_OFF)
		return -ENODEV;
	switch (op->kind) {
	case E4R_MOUNT:
		return e4r_mount(op);
	case E4R_ALLOCATE:
		return e4r_allocate(op, a);
	case E4R_FREE:
		return e4r_free(op, a);
	case E4R_DISCARD:
		return e4r_discard(op);
	case E4R_LOAD:
	case E4R_READ:
		return e4r_load(op);
	case E4R_MAKE_INODE:
		return e4r_make_inode(op->ino);
	case E4R_DROP_INODE:
		return e4r_drop_inode(op->ino);
	case E4R_COMMIT_BEGIN:
		return e4r_commit_begin();
	case E4R_COMMIT_END:
		return e4r_commit_end();
	case E4R_READ_FILE:
		return e4r_read_file(a);
	case E4R_WRITE_FILE:
		return e4r_write_file();
	case E4R_POWER_OFF:
		kernel_power_off();
	}
	return -EOPNOTSUPP;
}

/* Waits until the host asks for more than `done` operations: a while awake, then asleep. Ends with
 * who has started this kernel. */
static void e4r_wait(struct e4r_count *asked, u32 done)
{
	struct {
		long s, ns;
	} most = {0, 50 * NSEC_PER_MSEC};
	unsigned int spins;

	for (spins = 0; smp_load_acquire(&asked->value) == done; spins++) {
		if (spins < E4R_SPINS) {
			cpu_relax();
		} else {
			WRITE_ONCE(asked->waits, 1);
			smp_mb();
			if (READ_ONCE(asked->value) == done)
				syscall(E4R_HOST_FUTEX, &asked->value, E4R_HOST_FUTEX_WAIT, done,
					&most, NULL, 0);
			WRITE_ONCE(asked->waits, 0);
			if (syscall(E4R_HOST_GETPPID) != e4r.parent)
				kernel_power_off();
			cond_resched();
		}
	}
}

static void e4r_serve(void)
{
	struct e4r_shared *s = e4r.shared;
	u32 done = 0;

	for (;;) {
		struct e4r_op op;
		struct e4r_answer *a = &s->answers[done % E4R_SLOTS];

		e4r_wait(&s->asked, done);
		op = s->ops[done % E4R_SLOTS];
		memset(a, 0, sizeof(*a));
		a->error = e4r_do(&op, a);
		if (e4r.sb)
			a->errors = le32_to_cpu(EXT4_SB(e4r.sb)->s_es->s_error_count);
		done++;
		smp_store_release(&s->answered.value, done);
		smp_mb();
		if (READ_ONCE(s->answered.waits))
			syscall(E4R_HOST_FUTEX, &s->answered.value, E4R_HOST_FUTEX_WAKE, 1, NULL,
				NULL, 0);
		cond_resched();
	}
}

static int __init e4r_init(void)
{
	int fd, err;

	if (!e4r_path[0])
		return 0;
	register_console(&e4r_console);
	fd = open(e4r_path, E4R_HOST_O_RDWR);
	if (fd < 0)
		panic("e4replay: cannot open %s", e4r_path);
	e4r.shared = mmap(NULL, sizeof(*e4r.shared), E4R_HOST_PROT_READ_WRITE, E4R_HOST_MAP_SHARED,
			  fd, 0);
	if (e4r.shared == (void *)-1L || e4r.shared->magic != E4R_MAGIC ||
	    e4r.shared->protocol != E4R_PROTOCOL)
		panic("e4replay: %s is not what this driver talks through", e4r_path);
	e4r.parent = syscall(E4R_HOST_GETPPID);
	e4r.shared->version = LINUX_VERSION_CODE;
	xa_init(&e4r.inodes);
	init_completion(&e4r.reached);
	init_completion(&e4r.go);
	init_completion(&e4r.ended);
	err = e4r_make_places();
	if (err)
		panic("e4replay: no disk: %d", err);
	smp_store_release(&e4r.shared->ready, 1);
	e4r_serve();
	return 0;
}
late_initcall_sync(e4r_init);
