// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stand-ins for the recorded inodes: they exist only in memory, and have the number, mode, size and
 * number of writers that influence decisions.
 */

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
		iput(inode); /* discards its preallocations */
	return 0;
}

static int e4r_get_write_access(handle_t *handle, struct buffer_head *block)
{
#ifdef E4R_JOURNAL_TRIGGERS
	return ext4_journal_get_write_access(handle, e4r.sb, block, EXT4_JTR_NONE);
#else
	return ext4_journal_get_write_access(handle, block);
#endif
}

/* Creating the first inode of a group initializes its block bitmap. */
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
	err = e4r_get_write_access(handle, bitmap);
	if (!err)
		err = e4r_get_write_access(handle, table);
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
