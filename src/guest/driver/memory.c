// SPDX-License-Identifier: GPL-2.0-only
/* Restores what the recorded file system held only in memory when the recording began. */

#ifdef E4R_PREALLOC_TREES
#define E4R_ON_LIST pa_node.lg_list
#else
#define E4R_ON_LIST pa_inode_list
#endif

/* Adds the entry to the list after `before` others. */
static void e4r_insert(struct list_head *entry, struct list_head *list, u32 before)
{
	struct list_head *last = list;

	for (; before && last->next != list; before--)
		last = last->next;
	list_add_rcu(entry, last);
}

static int e4r_give_to_cpu(struct ext4_prealloc_space *pa, const struct e4r_op *op)
{
	struct ext4_locality_group *group;
	int err = e4r_use_cpu(op->cpu);

	if (err)
		return err;
	group = raw_cpu_ptr(EXT4_SB(e4r.sb)->s_locality_groups);
	pa->pa_type = MB_GROUP_PA;
	pa->pa_lstart = pa->pa_pstart;
#ifdef E4R_PREALLOC_TREES
	pa->pa_node_lock.lg_lock = &group->lg_prealloc_lock;
#else
	pa->pa_obj_lock = &group->lg_prealloc_lock;
#endif
	e4r_insert(&pa->E4R_ON_LIST,
		   &group->lg_prealloc_list[min(fls(pa->pa_free), PREALLOC_TB_SIZE) - 1],
		   op->before);
	return 0;
}

static int e4r_give_to_inode(struct ext4_prealloc_space *pa, const struct e4r_op *op)
{
	struct inode *inode = e4r_inode(op->ino, S_IFREG | 0600);
	struct ext4_inode_info *info;

	if (!inode)
		return -ENOMEM;
	info = EXT4_I(inode);
	pa->pa_type = MB_INODE_PA;
	pa->pa_lstart = op->logical;
	pa->pa_inode = inode;
#ifdef E4R_PREALLOC_TREES
	pa->pa_node_lock.inode_lock = &info->i_prealloc_lock;
	ext4_mb_pa_rb_insert(&info->i_prealloc_node, &pa->pa_node.inode_node);
#else
	pa->pa_obj_lock = &info->i_prealloc_lock;
	e4r_insert(&pa->E4R_ON_LIST, &info->i_prealloc_list, op->before);
#endif
#ifdef E4R_COUNTS_PREALLOCS
	atomic_inc(&info->i_prealloc_active);
#endif
	return 0;
}

/* Takes the free clusters of the range in the buddy. Returns their number. */
static int e4r_take_unused(struct ext4_buddy *buddy, ext4_grpblk_t start, ext4_grpblk_t end)
{
	struct ext4_free_extent run = {.fe_group = buddy->bd_group};
	ext4_grpblk_t next;
	int taken = 0;

	for (; start < end; start = next) {
		start = mb_find_next_zero_bit(buddy->bd_bitmap, end, start);
		if (start >= end)
			break;
		next = mb_find_next_bit(buddy->bd_bitmap, end, start);
		run.fe_start = start;
		run.fe_len = next - start;
		mb_mark_used(buddy, &run);
		taken += run.fe_len;
	}
	return taken;
}

/* Makes a preallocation. Its clusters that are in use count as handed out. Makes none if all are
 * in use, or if a CPU's preallocation has a cluster in use. */
static int e4r_plant(const struct e4r_op *op)
{
	bool of_cpu = op->flags & E4R_PLANT_OF_CPU;
	struct ext4_prealloc_space *pa;
	struct ext4_buddy buddy;
	ext4_grpblk_t start, end;
	ext4_group_t group;
	int err;

	ext4_get_group_no_and_offset(e4r.sb, op->goal, &group, &start);
	if (group >= ext4_get_groups_count(e4r.sb) || !op->len ||
	    op->len > EXT4_CLUSTERS_PER_GROUP(e4r.sb) - start)
		return -EINVAL;
	end = start + op->len;
	pa = kmem_cache_zalloc(ext4_pspace_cachep, GFP_NOFS);
	if (!pa)
		return -ENOMEM;
	err = ext4_mb_load_buddy(e4r.sb, group, &buddy);
	if (err) {
		kmem_cache_free(ext4_pspace_cachep, pa);
		return err;
	}
	ext4_lock_group(e4r.sb, group);
	if (!of_cpu || mb_find_next_bit(buddy.bd_bitmap, end, start) >= end)
		pa->pa_free = e4r_take_unused(&buddy, start, end);
	INIT_LIST_HEAD(&pa->pa_group_list);
	if (pa->pa_free)
		list_add(&pa->pa_group_list, &buddy.bd_info->bb_prealloc_list);
	ext4_unlock_group(e4r.sb, group);
	ext4_mb_unload_buddy(&buddy);
	if (!pa->pa_free) {
		kmem_cache_free(ext4_pspace_cachep, pa);
		return 0;
	}
	spin_lock_init(&pa->pa_lock);
	pa->pa_pstart = op->goal;
	pa->pa_len = op->len;
	return of_cpu ? e4r_give_to_cpu(pa, op) : e4r_give_to_inode(pa, op);
}

/* Allocates exactly this extent, without counting it in mb_stats. */
static int e4r_take(const struct e4r_op *op)
{
	struct ext4_sb_info *sbi = EXT4_SB(e4r.sb);
	struct ext4_allocation_request ar = {
		.inode = e4r.other,
		.goal = op->goal,
		.len = op->len,
		.flags = EXT4_MB_HINT_TRY_GOAL | EXT4_MB_HINT_GOAL_ONLY,
	};
	unsigned long stripe = sbi->s_stripe;
	handle_t *handle;
	ext4_fsblk_t block;
	int err;

	handle = ext4_journal_start_sb(e4r.sb, EXT4_HT_MAP_BLOCKS, 8);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	sbi->s_mb_stats = 0;
	sbi->s_stripe = 0; /* with a stripe, a goal of that length must be aligned */
	block = ext4_mb_new_blocks(handle, &ar, &err);
	sbi->s_stripe = stripe;
	sbi->s_mb_stats = 1;
	ext4_journal_stop(handle);
	if (err)
		return err;
	return block == op->goal && ar.len == op->len ? 0 : -ENOSPC;
}

#ifdef E4R_GROUP_LISTS
static void e4r_move_to_end(struct list_head *entry, struct list_head *list)
{
	if (!list_empty(entry))
		list_move_tail(entry, list);
}
#endif

/* Moves a group to the end of its lists by order, and lowers its first free cluster. */
static int e4r_place_group(const struct e4r_op *op)
{
	struct ext4_group_info *info;

	if (op->goal >= ext4_get_groups_count(e4r.sb))
		return -EINVAL;
	info = ext4_get_group_info(e4r.sb, op->goal);
	if (!info)
		return 0;
	if (op->flags & E4R_PLACE_FIRST_FREE)
		info->bb_first_free = min_t(ext4_grpblk_t, info->bb_first_free, op->len);
#ifdef E4R_GROUP_LISTS
	if ((op->flags & E4R_PLACE_LARGEST) && info->bb_largest_free_order >= 0)
		e4r_move_to_end(
			&info->bb_largest_free_order_node,
			&EXT4_SB(e4r.sb)->s_mb_largest_free_orders[info->bb_largest_free_order]);
#endif
#ifdef E4R_AVERAGE_LISTS
	if ((op->flags & E4R_PLACE_AVERAGE) && info->bb_avg_fragment_size_order >= 0)
		e4r_move_to_end(
			&info->bb_avg_fragment_size_node,
			&EXT4_SB(e4r.sb)->s_mb_avg_fragment_size[info->bb_avg_fragment_size_order]);
#endif
	return 0;
}
