// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records which locks a request takes, and when it takes and releases them. These macros replace
 * the kernel's in the tree's mballoc.c. Locks that a patch adds are recorded as well. The name of a
 * lock is the expression in the source. This kernel has one CPU, so no lock is ever waited for.
 * spinlocks.h gives each lock an address.
 */
static struct {
	struct task_struct *task; /* the task whose locks are recorded; NULL: none */
	u64 began;		  /* cycles */
} e4r_noting;

static u64 e4r_cycles(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a"(low), "=d"(high));
	return (u64)high << 32 | low;
}

/* Measures the length of a cycle. */
static void e4r_time_cycles(void)
{
	u64 began = ktime_get_ns(), ns, cycles = e4r_cycles();

	do
		ns = ktime_get_ns() - began;
	while (ns < 5 * NSEC_PER_MSEC);
	cycles = e4r_cycles() - cycles;
	e4r.shared->locks.cycles_per_us = div64_u64(cycles * 1024 * NSEC_PER_USEC, ns);
}

/* Returns the number of the lock that has this expression in the source. */
static u16 e4r_lock_name(const char *text)
{
	struct e4r_locks *to = &e4r.shared->locks;
	u32 i;

	for (i = 0; i < to->names; i++)
		if (!strncmp(to->name[i], text, E4R_LOCK_NAME_BYTES - 1))
			return i;
	if (i == E4R_LOCK_NAMES)
		return E4R_LOCK_NAMES - 1;
	strscpy(to->name[i], text, E4R_LOCK_NAME_BYTES);
	to->names++;
	return i;
}

static void e4r_note_lock(s16 *site, const char *text, u16 what, u64 lock)
{
	struct e4r_locks *to = &e4r.shared->locks;
	struct e4r_lock_event *event;

	if (e4r_noting.task != current)
		return;
	if (!*site)
		*site = e4r_lock_name(text) + 1;
	if (to->events == E4R_LOCK_EVENTS) {
		to->left_out++;
		return;
	}
	event = &to->event[to->events++];
	event->lock = lock;
	event->cycles = e4r_cycles() - e4r_noting.began;
	event->name = *site - 1;
	event->what = what;
}

static void e4r_begin_noting(void)
{
	e4r.shared->locks.events = 0;
	e4r.shared->locks.left_out = 0;
	e4r_noting.task = current;
	e4r_noting.began = e4r_cycles();
}

static void e4r_end_noting(void)
{
	e4r.shared->locks.cycles = e4r_cycles() - e4r_noting.began;
	e4r_noting.task = NULL;
}

#define E4R_NOTE(text, what, lock) \
	do { \
		static s16 e4r_site; \
		e4r_note_lock(&e4r_site, text, what, (u64)(lock)); \
	} while (0)
#define E4R_TAKE(take, text, what, lock) \
	do { \
		take; \
		E4R_NOTE(text, what, lock); \
	} while (0)
#define E4R_LET_GO(let_go, text, lock) \
	do { \
		E4R_NOTE(text, E4R_LOCK_LET_GO, lock); \
		let_go; \
	} while (0)
/* For calls of functions that take and release a lock. */
#define E4R_INSIDE(call, text, lock) \
	({ \
		typeof(call) e4r_result; \
		E4R_NOTE(text, E4R_LOCK_TAKE, lock); \
		e4r_result = call; \
		E4R_NOTE(text, E4R_LOCK_LET_GO, lock); \
		e4r_result; \
	})
#define E4R_GROUP_LOCK(group) (E4R_LOCK_OF_GROUP | (group))

/* Whether another CPU holds the group's lock, according to the request. */
static bool e4r_is_held(const struct e4r_op *op, ext4_group_t group)
{
	u32 lock = group % E4R_GROUP_LOCKS;

	return op->held[lock / 64] >> (lock % 64) & 1;
}

/* Whether another CPU holds the group's lock at this visit, according to the request. */
static bool e4r_is_held_at_visit(const struct e4r_op *op, ext4_group_t group)
{
	u32 i, visit;

	for (i = 0; i < min_t(u32, op->locked_count, E4R_MOST_LOCKED); i++) {
		if (op->locked[i] != group)
			continue;
		visit = e4r.visited[i]++;
		return visit < 32 && op->visits[i] >> visit & 1;
	}
	return false;
}

static bool e4r_count_refused(bool refused)
{
	if (refused && e4r.answer)
		e4r.answer->refused++;
	return refused;
}

/* A search looks at the lock each time it visits a group. If the lock is free, it tries to take it
 * later in the same visit. */
static bool e4r_finds_lock_held(ext4_group_t group)
{
	const struct e4r_op *op = e4r.request;

	return e4r_count_refused(op && (e4r_is_held_at_visit(op, group) || e4r_is_held(op, group)));
}

static bool e4r_fails_to_lock(ext4_group_t group)
{
	const struct e4r_op *op = e4r.request;

	return e4r_count_refused(op && e4r_is_held(op, group));
}

/* The last group lock whose address the code asked for. */
static struct {
	ext4_group_t group;
	const spinlock_t *lock;
} e4r_asked;

static spinlock_t *e4r_group_lock(struct super_block *sb, ext4_group_t group)
{
	spinlock_t *lock = ext4_group_lock_ptr(sb, group);

	e4r_asked.group = group;
	e4r_asked.lock = lock;
	return lock;
}
#define ext4_group_lock_ptr(sb, g) e4r_group_lock(sb, g)
static bool e4r_spin_is_locked(const spinlock_t *lock)
{
	return lock == e4r_asked.lock && e4r_finds_lock_held(e4r_asked.group);
}
#define spin_is_locked(l) e4r_spin_is_locked(l)

static struct list_head e4r_pretences;
static int e4r_end_pretences(const struct ext4_group_info *locked);

/* Whether the search has lost its best extent to another request. The function that returns to the
 * best extent must then fail, so that function alone sees the group's bitmap as corrupt. The search
 * has passed all groups by then, so it no longer sees what it saw earlier. `group` is locked. */
static bool e4r_has_lost_best(const struct ext4_group_info *group, const char *function)
{
	if (!e4r.request || (!e4r.request->loses_best && list_empty(&e4r_pretences)) ||
	    strcmp(function, "ext4_mb_try_best_found") != 0)
		return false;
	/* A failure shows later as a wrong decision. */
	e4r_end_pretences(group);
	return e4r.request->loses_best;
}
static bool e4r_is_corrupt(const struct ext4_group_info *group)
{
	return EXT4_MB_GRP_BBITMAP_CORRUPT(group);
}
#undef EXT4_MB_GRP_BBITMAP_CORRUPT
#define EXT4_MB_GRP_BBITMAP_CORRUPT(g) (e4r_is_corrupt(g) || e4r_has_lost_best(g, __func__))

#define spin_lock(l) E4R_TAKE((spin_lock)(l), #l, E4R_LOCK_TAKE, l)
#define spin_unlock(l) E4R_LET_GO((spin_unlock)(l), #l, l)
#undef read_lock
#define read_lock(l) E4R_TAKE(_raw_read_lock(l), #l, E4R_LOCK_SHARE, l)
#undef read_unlock
#define read_unlock(l) E4R_LET_GO(_raw_read_unlock(l), #l, l)
#undef write_lock
#define write_lock(l) E4R_TAKE(_raw_write_lock(l), #l, E4R_LOCK_TAKE, l)
#undef write_unlock
#define write_unlock(l) E4R_LET_GO(_raw_write_unlock(l), #l, l)
#define mutex_lock(l) E4R_TAKE((mutex_lock)(l), #l, E4R_LOCK_SLEEP, l)
#define mutex_unlock(l) E4R_LET_GO((mutex_unlock)(l), #l, l)
#define xa_insert(xa, index, entry, gfp) E4R_INSIDE((xa_insert)(xa, index, entry, gfp), #xa, xa)
#define xa_erase(xa, index) E4R_INSIDE((xa_erase)(xa, index), #xa, xa)
#define ext4_lock_group(sb, g) \
	E4R_TAKE((ext4_lock_group)(sb, g), "group", E4R_LOCK_TAKE, E4R_GROUP_LOCK(g))
#define ext4_unlock_group(sb, g) E4R_LET_GO((ext4_unlock_group)(sb, g), "group", E4R_GROUP_LOCK(g))
#define ext4_try_lock_group(sb, g) \
	({ \
		bool e4r_got = !e4r_fails_to_lock(g) && (ext4_try_lock_group)(sb, g); \
		if (e4r_got) \
			E4R_NOTE("group", E4R_LOCK_TRY, E4R_GROUP_LOCK(g)); \
		e4r_got; \
	})
