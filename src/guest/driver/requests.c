// SPDX-License-Identifier: GPL-2.0-only
/* Requests, frees, and other operations that change the allocator's state. */

/* ---- Reports the current decision. */

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
#ifdef E4R_REMEMBERS_GOAL
	a->goal_len = ac->ac_orig_goal_len;
#endif
	a->found = ac->ac_found;
	a->groups = ac->ac_groups_scanned;
	a->flags = ac->ac_flags;
	a->tail = ac->ac_tail;
	a->buddy = ac->ac_buddy;
	a->criterion = ac->ac_criteria;
}

#ifdef E4R_COUNTS_NO_GROUPS
static u64 e4r_considered(void)
{
	return 0;
}
#else
static u64 e4r_considered(void)
{
	struct ext4_sb_info *sbi = EXT4_SB(e4r.sb);
	u64 sum = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(sbi->s_bal_cX_groups_considered); i++)
		sum += atomic64_read(&sbi->s_bal_cX_groups_considered[i]);
	return sum;
}
#endif

/* ---- Operations. */

/* Uses the locality group of the CPU on which the request was recorded. */
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

/* The goal of the inode's stream. `start` is not used if the kernel keeps groups only. */
struct e4r_stream_goal {
	unsigned long group, start;
};

#ifdef E4R_STREAMS_BY_INODE
static ext4_group_t *e4r_stream_group(const struct inode *inode)
{
	struct ext4_sb_info *sbi = EXT4_SB(inode->i_sb);

	return &sbi->s_mb_last_groups[(unsigned int)inode->i_ino % sbi->s_mb_nr_global_goals];
}

static struct e4r_stream_goal e4r_read_stream_goal(const struct inode *inode)
{
	return (struct e4r_stream_goal){.group = *e4r_stream_group(inode)};
}

static void e4r_set_stream_goal(const struct inode *inode, struct e4r_stream_goal goal)
{
	*e4r_stream_group(inode) = goal.group;
}
#else
static struct e4r_stream_goal e4r_read_stream_goal(const struct inode *inode)
{
	const struct ext4_sb_info *sbi = EXT4_SB(inode->i_sb);

	return (struct e4r_stream_goal){.group = sbi->s_mb_last_group,
					.start = sbi->s_mb_last_start};
}

static void e4r_set_stream_goal(const struct inode *inode, struct e4r_stream_goal goal)
{
	struct ext4_sb_info *sbi = EXT4_SB(inode->i_sb);

	sbi->s_mb_last_group = goal.group;
	sbi->s_mb_last_start = goal.start;
}
#endif

/* Whether a search has served the request. */
static bool e4r_was_found(const struct e4r_answer *a)
{
	return a->what == E4R_CLOSED && a->result.len > 0;
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
	struct e4r_stream_goal latest;
	handle_t *handle;
	int err;
	u64 began;

	if (!inode)
		return -ENOMEM;
	if (op->other_stream_goal && op->stream_group >= ext4_get_groups_count(e4r.sb))
		return -EINVAL;
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
	latest = e4r_read_stream_goal(inode);
	if (op->other_stream_goal)
		e4r_set_stream_goal(inode, (struct e4r_stream_goal){.group = op->stream_group,
								    .start = op->stream_start});
	e4r.request = op;
	e4r.answer = a;
	memset(e4r.visited, 0, sizeof(e4r.visited));
	if (op->locks)
		e4r_begin_noting();
	began = ktime_get_ns();
	a->block = ext4_mb_new_blocks(handle, &ar, &err);
	a->ns = ktime_get_ns() - began;
	e4r_end_noting();
	e4r.request = NULL;
	e4r.answer = NULL;
	if (op->other_stream_goal && !e4r_was_found(a))
		e4r_set_stream_goal(inode, latest);
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
#ifdef E4R_DISCARDS_SOME
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

/* Drops the pages of the group's bitmap and buddy, as a kernel that needs memory does. Groups that
 * share pages are loaded together, so only the first one drops the pages. */
static int e4r_reclaim(const struct e4r_op *op)
{
	struct address_space *pages = EXT4_SB(e4r.sb)->s_buddy_cache->i_mapping;
	unsigned int per_page = PAGE_SIZE / e4r.sb->s_blocksize;
	pgoff_t block = op->goal * 2;

	if (op->goal >= ext4_get_groups_count(e4r.sb))
		return -EINVAL;
	if (per_page && block % per_page == 0)
		invalidate_mapping_pages(pages, block / per_page, (block + 1) / per_page);
	return 0;
}
