/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tree's own ext4.h, with the driver's checksums (checksum.c). Only for trees that do not
 * compute them through the crypto API.
 */
#include <linux/crc32c.h>
u32 e4r_crc32c(u32 sum, const void *data, size_t len);
#define crc32c e4r_crc32c
#include "ext4-tree.h"
#undef crc32c
