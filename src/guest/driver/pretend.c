// SPDX-License-Identifier: GPL-2.0-only
/* Lets one request see clusters in the state that they had when its search passed their group. */

struct e4r_pretence {
	struct list_head list;
	struct e4r_extent extent;
	bool freed;
};

static struct list_head e4r_pretences = LIST_HEAD_INIT(e4r_pretences);

/* Frees or takes the clusters in the buddy only. Returns whether all had the other state. */
static bool e4r_change_buddy(struct ext4_buddy *buddy, const struct e4r_extent *extent, bool free)
{
	ext4_grpblk_t end = extent->start + extent->len;

	if (free) {
		if (mb_find_next_zero_bit(buddy->bd_bitmap, end, extent->start) < end)
			return false;
		mb_free_blocks(e4r.other, buddy, extent->start, extent->len);
		return true;
	}
	if (mb_find_next_bit(buddy->bd_bitmap, end, extent->start) < end)
		return false;
	e4r_take_unused(buddy, extent->start, end);
	return true;
}

/* Kernels with lists of groups by order do not pretend: a change would move the group on them. */
static int e4r_pretend(const struct e4r_op *op)
{
#ifndef E4R_GROUP_LISTS
	bool free = op->flags & E4R_PRETEND_FREE;
	struct e4r_pretence *pretence;
	struct ext4_buddy buddy;
	struct e4r_extent extent = {.len = op->len};
	ext4_grpblk_t start;
	int err;

	ext4_get_group_no_and_offset(e4r.sb, op->goal, &extent.group, &start);
	extent.start = start;
	if (extent.group >= ext4_get_groups_count(e4r.sb) || !op->len ||
	    op->len > EXT4_CLUSTERS_PER_GROUP(e4r.sb) - start)
		return -EINVAL;
	pretence = kzalloc(sizeof(*pretence), GFP_NOFS);
	if (!pretence)
		return -ENOMEM;
	err = ext4_mb_load_buddy(e4r.sb, extent.group, &buddy);
	if (err) {
		kfree(pretence);
		return err;
	}
	pretence->extent = extent;
	pretence->freed = free;
	ext4_lock_group(e4r.sb, extent.group);
	if (e4r_change_buddy(&buddy, &extent, free)) {
		list_add(&pretence->list, &e4r_pretences);
		pretence = NULL;
	}
	ext4_unlock_group(e4r.sb, extent.group);
	ext4_mb_unload_buddy(&buddy);
	kfree(pretence);
#endif
	return 0;
}

/* Undoes all changes, the last one first. Clusters that the request took stay taken. The lock of
 * group `locked` is held; NULL: of no group. */
static int e4r_end_pretences(const struct ext4_group_info *locked)
{
	struct e4r_pretence *pretence, *next;
	int err = 0;

	list_for_each_entry_safe(pretence, next, &e4r_pretences, list)
	{
		struct e4r_extent *extent = &pretence->extent;
		struct ext4_buddy buddy;
		int failed = ext4_mb_load_buddy(e4r.sb, extent->group, &buddy);

		if (!failed) {
			if (buddy.bd_info != locked)
				ext4_lock_group(e4r.sb, extent->group);
			if (pretence->freed)
				e4r_take_unused(&buddy, extent->start, extent->start + extent->len);
			else
				e4r_change_buddy(&buddy, extent, true);
			if (buddy.bd_info != locked)
				ext4_unlock_group(e4r.sb, extent->group);
			ext4_mb_unload_buddy(&buddy);
		}
		err = err ? err : failed;
		list_del(&pretence->list);
		kfree(pretence);
	}
	return err;
}
