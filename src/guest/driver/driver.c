// SPDX-License-Identifier: GPL-2.0-only
/*
 * e4replay's driver: the block allocator of this kernel decides requests from a process on the
 * host. The driver runs as the last initcall of a User Mode Linux kernel. It mounts the kernel's
 * disk and performs operations one by one until the host ends the kernel. There is no user
 * space. The same driver serves all trees from 5.4 on, compiled together with their mballoc.c.
 */

/* Facts that can be read from the kernel file without starting it. */
#define E4R_TEXT(x) #x
#define E4R_NUMBER(x) E4R_TEXT(x)
#ifdef E4R_COUNTS_NO_GROUPS
#define E4R_CRITERIA 4 /* ext4_mb_regular_allocator() of such trees */
#else
#define E4R_CRITERIA ARRAY_SIZE(((struct ext4_sb_info *)NULL)->s_bal_cX_hits)
#endif
#define E4R_BEFORE E4R_IDENTITY " protocol=" E4R_NUMBER(E4R_PROTOCOL) " criteria="
#ifndef E4R_SOURCE
#define E4R_SOURCE ""
#endif
#define E4R_BEHIND " release=" UTS_RELEASE E4R_SOURCE "\n"
static_assert(E4R_CRITERIA < 10);
const struct {
	char before[sizeof(E4R_BEFORE) - 1];
	char criteria;
	char behind[sizeof(E4R_BEHIND)];
} e4r_identity __used = {E4R_BEFORE, '0' + E4R_CRITERIA, E4R_BEHIND};

#define E4R_DISK_MAJOR 98 /* ubd */
#define E4R_PARTITIONS 16 /* minors of one ubd disk */
#define E4R_DIRECTORY "/e4replay"

static char e4r_path[64];
static int __init e4r_set_path(char *value)
{
	strscpy(e4r_path, value, sizeof(e4r_path));
	return 1;
}
__setup("e4replay=", e4r_set_path);

/* ---- The mount. */

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 9, 0)
/* System calls of these kernels accept addresses of a kernel thread. */
static int __init init_mkdir(const char *path, umode_t mode)
{
	return ksys_mkdir(path, mode);
}

static int __init init_mknod(const char *path, umode_t mode, unsigned int device)
{
	return ksys_mknod(path, mode, device);
}

static int init_mount(const char *device, const char *directory, const char *type,
		      unsigned long flags, void *data)
{
	return do_mount(device, directory, type, flags, data);
}
#endif

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

/* 6.17 and later spread streams over the possible CPUs of the recorded machine. */
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
	e4r.shared->criteria = E4R_CRITERIA;
	return e4r_spread_streams(op->cpu);
}

/* ---- One operation after the other. */

static int e4r_do(const struct e4r_op *op, struct e4r_answer *a)
{
	int err, ended;

	if (!e4r.sb && op->kind != E4R_MOUNT && op->kind != E4R_POWER_OFF)
		return -ENODEV;
	switch (op->kind) {
	case E4R_MOUNT:
		return e4r_mount(op);
	case E4R_ALLOCATE:
		err = e4r_allocate(op, a);
		ended = e4r_end_pretences(NULL);
		return err ? err : ended;
	case E4R_PRETEND:
		return e4r_pretend(op);
	case E4R_FREE:
		return e4r_free(op, a);
	case E4R_DISCARD:
		return e4r_discard(op);
	case E4R_PLANT:
		return e4r_plant(op);
	case E4R_TAKE:
		return e4r_take(op);
	case E4R_PLACE_GROUP:
		return e4r_place_group(op);
	case E4R_LOAD:
	case E4R_READ:
		return e4r_load(op);
	case E4R_RECLAIM:
		return e4r_reclaim(op);
	case E4R_MAKE_INODE:
		return e4r_make_inode(op->ino);
	case E4R_DROP_INODE:
		return e4r_drop_inode(op->ino);
	case E4R_COMMIT_BEGIN:
		return e4r_commit_begin();
	case E4R_COMMIT_UNTIL:
		return e4r_commit_until(op);
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
		e4r.looks = 0;
		WRITE_ONCE(e4r.at_work, true);
		a->error = e4r_do(&op, a);
		WRITE_ONCE(e4r.at_work, false);
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
	e4r_look(&e4r_timer);
	e4r.shared->version = LINUX_VERSION_CODE;
	xa_init(&e4r.inodes);
	init_completion(&e4r.reached);
	init_completion(&e4r.go);
	init_completion(&e4r.ended);
	err = e4r_sum_by_instruction();
	if (err)
		panic("e4replay: no checksums: %d", err);
	e4r_time_cycles();
	err = e4r_make_places();
	if (err)
		panic("e4replay: no disk: %d", err);
	panic_on_warn = 1; /* a warning of the allocator ends the kernel at that point */
	smp_store_release(&e4r.shared->ready, 1);
	e4r_serve();
	return 0;
}
late_initcall_sync(e4r_init);
