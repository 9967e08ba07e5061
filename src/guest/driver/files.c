// SPDX-License-Identifier: GPL-2.0-only
/* Files of proc and sysfs. */

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
