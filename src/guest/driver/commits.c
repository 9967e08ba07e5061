// SPDX-License-Identifier: GPL-2.0-only
/* The host decides when commits begin and end. */

/* The committing thread calls this when a transaction is on disk. */
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

/* The extents that a transaction has freed, in the order in which it returns them. */
static struct list_head *e4r_freed_by(tid_t transaction)
{
#ifdef E4R_FREED_LISTS
	return &EXT4_SB(e4r.sb)->s_freed_data_list[transaction & 1];
#else
	return &EXT4_SB(e4r.sb)->s_freed_data_list;
#endif
}

static struct ext4_free_data *e4r_find_freed(ext4_group_t group, u32 cluster)
{
	struct ext4_free_data *entry;

	list_for_each_entry(entry, e4r_freed_by(e4r.wanted), efd_list)
	{
		if (entry->efd_tid != e4r.wanted)
			break;
		if (entry->efd_group == group && cluster >= entry->efd_start_cluster &&
		    cluster - entry->efd_start_cluster < entry->efd_count)
			return entry;
	}
	return NULL;
}

/* Does what the committing thread will do, but only for the first extents. With -o discard, it
 * leaves everything to that thread, which also passes the extents on to be discarded. */
static int e4r_commit_until(const struct e4r_op *op)
{
	struct ext4_free_data *entry, *next, *last;

	if (!e4r.committing || test_opt(e4r.sb, DISCARD))
		return 0;
	last = e4r_find_freed(op->goal, op->len);
	if (!last)
		return 0;
	list_for_each_entry_safe(entry, next, e4r_freed_by(e4r.wanted), efd_list)
	{
		bool done = entry == last;

		spin_lock(&EXT4_SB(e4r.sb)->s_md_lock);
		list_del(&entry->efd_list);
		spin_unlock(&EXT4_SB(e4r.sb)->s_md_lock);
		ext4_free_data_in_buddy(e4r.sb, entry);
		kmem_cache_free(ext4_free_data_cachep, entry);
		if (done)
			break;
	}
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
