/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tree's own ext4.h, whose checksums are the driver's (checksum.c). Only in trees that have no
 * algorithm of the crypto API for them.
 */
#include <linux/crc32c.h>
u32 e4r_crc32c(u32 sum, const void *data, size_t len);
#define crc32c e4r_crc32c
#include "ext4-tree.h"
#undef crc32c
