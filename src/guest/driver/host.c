// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access to the host: the kernel prints to the host's standard error, and waits sleep on the host's
 * futexes. The kernel runs as a process of the host and is linked with its C library.
 */
extern int open(const char *path, int flags, ...);
extern void *mmap(void *address, unsigned long bytes, int protection, int flags, int fd,
		  long offset);
extern long syscall(long number, ...);
extern long write(int fd, const void *bytes, unsigned long count);
#define E4R_HOST_O_RDWR 2
#define E4R_HOST_PROT_READ_WRITE 3
#define E4R_HOST_MAP_SHARED 1
#define E4R_HOST_KILL 62 /* x86-64 */
#define E4R_HOST_SIGKILL 9
#define E4R_HOST_GETPPID 110
#define E4R_HOST_FUTEX 202
#define E4R_HOST_FUTEX_WAIT 0
#define E4R_HOST_FUTEX_WAKE 1

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

/* ---- A timer interrupts code that never returns. It ends this kernel when the process that
 * started it has ended, and prints the current function of an operation that takes long. UML cannot
 * trace the stack that a timer interrupts. */

#define E4R_LOOKS_PER_SECOND 10
#define E4R_LONG_LOOKS (2 * E4R_LOOKS_PER_SECOND)

static void e4r_look(struct timer_list *timer)
{
	struct pt_regs *regs = get_irq_regs();

	if (syscall(E4R_HOST_GETPPID) != e4r.parent)
		syscall(E4R_HOST_KILL, 0, E4R_HOST_SIGKILL); /* all of this kernel's processes */
	if (READ_ONCE(e4r.at_work) && ++e4r.looks == E4R_LONG_LOOKS)
		pr_warn("e4replay: this operation takes long: the kernel is in %pS\n",
			regs ? (void *)instruction_pointer(regs) : NULL);
	mod_timer(timer, jiffies + HZ / E4R_LOOKS_PER_SECOND);
}

static DEFINE_TIMER(e4r_timer, e4r_look);

/* Waits until the host requests more than `done` operations: first spinning, then sleeping. */
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
			cond_resched();
		}
	}
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 16, 0) && !defined(CONFIG_NET)
/* lib/kobject_uevent.c of 5.9 to 5.15 refers to one of these even in a kernel without a network,
 * and never calls it there. 5.15.y has the second name. */
struct sk_buff;
void kfree_skb(struct sk_buff *skb);
void __weak kfree_skb(struct sk_buff *skb)
{
	BUG();
}

void kfree_skb_reason(struct sk_buff *skb, int reason);
void __weak kfree_skb_reason(struct sk_buff *skb, int reason)
{
	BUG();
}
#endif
