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
