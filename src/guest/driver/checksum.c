// SPDX-License-Identifier: GPL-2.0-only
/*
 * Computes CRC32C with the processor's instruction, as kernels on x86 do. mballoc computes the
 * checksum of a group's block bitmap each time it marks blocks. User Mode Linux has only the table
 * implementation, which would take most of the time of a decision, especially in newer kernels (7.3
 * works byte by byte).
 */
#ifdef E4R_SUMS_BY_CRYPTO
#include <crypto/internal/hash.h>
#endif

/* The processor works on three lanes at once. This length covers most of a bitmap of 1 KiB or 4
 * KiB. */
#define E4R_LANE 336 /* bytes */

static bool e4r_has_crc32;
/* The effect of E4R_LANE zero bytes on each byte of a checksum. */
static u32 e4r_behind_lane[4][256];

static inline u64 e4r_sum_word(u64 sum, const u8 *at)
{
	u64 word;

	__builtin_memcpy(&word, at, sizeof(word));
	asm("crc32q %1, %0" : "+r"(sum) : "rm"(word));
	return sum;
}

static inline u32 e4r_sum_byte(u32 sum, u8 byte)
{
	asm("crc32b %1, %0" : "+r"(sum) : "rm"(byte));
	return sum;
}

static u32 e4r_shifted(u32 sum)
{
	return e4r_behind_lane[0][sum & 255] ^ e4r_behind_lane[1][sum >> 8 & 255] ^
	       e4r_behind_lane[2][sum >> 16 & 255] ^ e4r_behind_lane[3][sum >> 24];
}

static u32 e4r_sum(u32 before, const u8 *at, size_t len)
{
	u64 sum = before;
	int i;

	for (; len >= 3 * E4R_LANE; at += 3 * E4R_LANE, len -= 3 * E4R_LANE) {
		u64 second = 0, third = 0;

		for (i = 0; i < E4R_LANE; i += 8) {
			sum = e4r_sum_word(sum, at + i);
			second = e4r_sum_word(second, at + E4R_LANE + i);
			third = e4r_sum_word(third, at + 2 * E4R_LANE + i);
		}
		sum = e4r_shifted(e4r_shifted(sum) ^ second) ^ third;
	}
	for (; len >= 8; at += 8, len -= 8)
		sum = e4r_sum_word(sum, at);
	for (; len; at++, len--)
		sum = e4r_sum_byte(sum, *at);
	return sum;
}

static void e4r_learn_to_sum(void)
{
	static const u8 zeros[8];
	u32 leaf = 1, ebx, ecx = 0, edx;
	int bit, i;

	asm volatile("cpuid" : "+a"(leaf), "=b"(ebx), "+c"(ecx), "=d"(edx));
	e4r_has_crc32 = ecx & 1 << 20; /* SSE4.2 */
	if (!e4r_has_crc32)
		return;
	for (bit = 0; bit < 32; bit++) {
		u32 sum = 1u << bit, *table = e4r_behind_lane[bit / 8];

		for (i = 0; i < E4R_LANE; i += 8)
			sum = e4r_sum_word(sum, zeros);
		/* CRCs are linear: the result for a byte is the sum of the results for its bits. */
		for (i = 0; i < 256; i++)
			if (i & 1 << bit % 8)
				table[i] ^= sum;
	}
}

#ifdef E4R_SUMS_BY_CRYPTO
/* At a mount ext4 and jbd2 request the algorithm "crc32c", and get the implementation with the
 * highest priority. */
static int e4r_sum_init(struct shash_desc *desc)
{
	*(u32 *)shash_desc_ctx(desc) = ~0;
	return 0;
}

static int e4r_sum_update(struct shash_desc *desc, const u8 *data, unsigned int len)
{
	u32 *sum = shash_desc_ctx(desc);

	*sum = e4r_sum(*sum, data, len);
	return 0;
}

static int e4r_sum_final(struct shash_desc *desc, u8 *out)
{
	u32 sum = ~*(u32 *)shash_desc_ctx(desc);

	__builtin_memcpy(out, &sum, sizeof(sum));
	return 0;
}

static struct shash_alg e4r_crc32c = {
	.digestsize = sizeof(u32),
	.descsize = sizeof(u32),
	.init = e4r_sum_init,
	.update = e4r_sum_update,
	.final = e4r_sum_final,
	.base =
		{
			.cra_name = "crc32c",
			.cra_driver_name = "crc32c-e4replay",
			.cra_priority = 1000,
			.cra_blocksize = 1,
			.cra_module = THIS_MODULE,
		},
};

static int e4r_sum_by_instruction(void)
{
	e4r_learn_to_sum();
	return e4r_has_crc32 ? crypto_register_shash(&e4r_crc32c) : 0;
}
#else
/* Replaces crc32c() in ext4 (ext4.h). */
u32 e4r_crc32c(u32 sum, const void *data, size_t len)
{
	return e4r_has_crc32 ? e4r_sum(sum, data, len) : crc32c(sum, data, len);
}

static int e4r_sum_by_instruction(void)
{
	e4r_learn_to_sum();
	return 0;
}
#endif
