/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spinlock types for a kernel with one CPU, in place of include/linux/spinlock_types_up.h. Those
 * have size 0; these have one byte, so that each lock has its own address (locks.c). The compiler
 * reads this header before each file.
 */
#ifndef __ASSEMBLY__
#define __LINUX_SPINLOCK_TYPES_UP_H
typedef struct {
	char place;
} arch_spinlock_t;
typedef struct {
	char place;
} arch_rwlock_t;
#define __ARCH_SPIN_LOCK_UNLOCKED \
	{ \
		0 \
	}
#define __ARCH_RW_LOCK_UNLOCKED \
	{ \
		0 \
	}
#endif
