// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads what a mounted file system holds only in memory: its preallocations and the goals of its
 * streams. The program is an iterator over the open files of the recorder (iter/task_file). It
 * starts from the first file on the file system and reads without locks, while the file system is
 * frozen. As in inputs.bpf.c, the structures declare only the members that it reads.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "messages.h"

#define OF_THE_KERNEL __attribute__((preserve_access_index))

/* Numbers on disk are little-endian. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define FROM_DISK(number) __builtin_bswap32(number)
#else
#define FROM_DISK(number) (number)
#endif

struct list_head {
  struct list_head* next;
} OF_THE_KERNEL;

struct super_block {
  unsigned int s_dev;
  void* s_fs_info;
} OF_THE_KERNEL;

struct inode {
  struct super_block* i_sb;
  unsigned long i_ino;
} OF_THE_KERNEL;

struct file {
  struct inode* f_inode;
} OF_THE_KERNEL;

struct bpf_iter__task_file {
  struct file* file __attribute__((aligned(8)));
} OF_THE_KERNEL;

struct ext4_super_block {
  __u32 s_first_data_block;
} OF_THE_KERNEL;

struct ext4_group_info {
  struct list_head bb_prealloc_list;
} OF_THE_KERNEL;

struct spinlock {
  char unused;
};

struct ext4_locality_group {
  struct spinlock lg_prealloc_lock;
} OF_THE_KERNEL;

struct ext4_sb_info {
  struct ext4_super_block* s_es;
  unsigned long s_blocks_per_group;
  unsigned int s_groups_count;
  unsigned int s_cluster_bits;
  int s_desc_per_block_bits;
  struct ext4_group_info*** s_group_info;
  void* s_locality_groups;
} OF_THE_KERNEL;

/* Up to 6.16, there is one goal for all inodes. */
struct ext4_sb_info___one_goal {
  unsigned long s_mb_last_group;
  unsigned long s_mb_last_start;
} OF_THE_KERNEL;

/* From 6.17 on. */
struct ext4_sb_info___goals {
  unsigned int* s_mb_last_groups;
  unsigned int s_mb_nr_global_goals;
} OF_THE_KERNEL;

struct ext4_prealloc_space {
  struct list_head pa_group_list;
  unsigned int pa_deleted;
  unsigned long long pa_pstart;
  unsigned int pa_lstart;
  int pa_len;
  unsigned short pa_type;
  struct inode* pa_inode;
} OF_THE_KERNEL;

/* Up to 6.3. */
struct ext4_prealloc_space___list {
  void* pa_obj_lock;
} OF_THE_KERNEL;

struct ext4_prealloc_space___tree {
  union {
    void* lg_lock;
  } pa_node_lock;
} OF_THE_KERNEL;

enum { INODE_PA = 0 }; /* pa_type */

const volatile struct e4r_memory_settings settings = {};

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} memory SEC(".maps");

/* A variable of each CPU. It shows how far apart the CPUs' copies of a per-CPU variable are. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} of_cpu SEC(".maps");

struct bpf_array {
  void* pptrs[1];
} OF_THE_KERNEL;

/* Not static: the compiler would give them other sizes than their type information has. */
__u32 has_read, sent;

/* What the loops share. */
struct place {
  struct ext4_sb_info* sbi;
  __u32 group;
  struct list_head *head, *at;
  __u64 offset; /* distance of the wanted CPU's copies from `base` */
  __u64 base;   /* address of of_cpu as a per-CPU variable */
  __u32 cpu;
};

static __always_inline void send(const struct e4r_memory* message) {
  sent++;
  (void)bpf_ringbuf_output(&memory, (void*)message, sizeof(*message), BPF_RB_NO_WAKEUP);
}

/* The pointer as a number. The verifier allows no arithmetic with the pointers that it knows. */
static __always_inline __u64 number_of(const void* pointer) {
  __u64 out = 0;
  bpf_probe_read_kernel(&out, sizeof(out), &pointer);
  return out;
}

/* Ends the loop at the CPU whose copies of per-CPU variables have the wanted offset. */
static long compare_cpu(__u32 cpu, struct place* place) {
  const __u32 key = 0;
  const void* own = bpf_map_lookup_percpu_elem(&of_cpu, &key, cpu);
  if (!own) return 1;
  if (number_of(own) - place->base != place->offset) return 0;
  place->cpu = cpu;
  return 1;
}

/* The CPU whose locality group has this lock. */
static __always_inline __u32 cpu_of(void* lock, struct place* place) {
  struct ext4_sb_info* sbi = place->sbi;
  __u64 array;
  place->cpu = E4R_MEMORY_NO_CPU;
  place->offset = (__u64)lock -
                  bpf_core_field_offset(struct ext4_locality_group, lg_prealloc_lock) -
                  (__u64)BPF_CORE_READ(sbi, s_locality_groups);
  array = number_of(&of_cpu) + bpf_core_field_offset(struct bpf_array, pptrs);
  bpf_probe_read_kernel(&place->base, sizeof(place->base), (void*)array);
  bpf_loop(settings.cpus, compare_cpu, place, 0);
  return place->cpu;
}

static __always_inline void* lock_of(struct ext4_prealloc_space* pa) {
  struct ext4_prealloc_space___list* of_list = (void*)pa;
  struct ext4_prealloc_space___tree* of_tree = (void*)pa;
  if (bpf_core_field_exists(of_list->pa_obj_lock)) return BPF_CORE_READ(of_list, pa_obj_lock);
  return BPF_CORE_READ(of_tree, pa_node_lock.lg_lock);
}

static long read_prealloc(__u32 number, struct place* place) {
  struct ext4_prealloc_space* pa;
  struct list_head* at;
  struct e4r_memory out = {.kind = E4R_MEMORY_PREALLOC};
  struct ext4_sb_info* sbi = place->sbi;
  __u64 block;
  if (place->at == place->head || !place->at) return 1;
  pa = (void*)place->at - bpf_core_field_offset(struct ext4_prealloc_space, pa_group_list);
  at = place->at;
  place->at = BPF_CORE_READ(at, next);
  if (BPF_CORE_READ(pa, pa_deleted)) return 0;
  block = BPF_CORE_READ(pa, pa_pstart) - FROM_DISK(BPF_CORE_READ(sbi, s_es, s_first_data_block)) -
          (__u64)place->group * BPF_CORE_READ(sbi, s_blocks_per_group);
  out.group = place->group;
  out.start = block >> (BPF_CORE_READ(sbi, s_cluster_bits) & 31);
  out.len = BPF_CORE_READ(pa, pa_len);
  if (BPF_CORE_READ(pa, pa_type) == INODE_PA) {
    out.ino = BPF_CORE_READ(pa, pa_inode, i_ino);
    out.logical = BPF_CORE_READ(pa, pa_lstart);
  } else {
    out.cpu = cpu_of(lock_of(pa), place);
  }
  send(&out);
  return 0;
}

static long read_group(__u32 group, struct place* place) {
  const __u32 most = 1 << 20;
  struct ext4_sb_info* sbi = place->sbi;
  const __u32 bits = BPF_CORE_READ(sbi, s_desc_per_block_bits) & 31;
  struct ext4_group_info*** blocks = BPF_CORE_READ(sbi, s_group_info);
  struct ext4_group_info **infos = NULL, *info = NULL;
  bpf_probe_read_kernel(&infos, sizeof(infos), blocks + (group >> bits));
  if (!infos) return 0;
  bpf_probe_read_kernel(&info, sizeof(info), infos + (group & ((1u << bits) - 1)));
  if (!info) return 0;
  place->group = group;
  place->head = __builtin_preserve_access_index(&info->bb_prealloc_list);
  place->at = BPF_CORE_READ(info, bb_prealloc_list.next);
  if (place->at != place->head) bpf_loop(most, read_prealloc, place, 0);
  return 0;
}

static long read_stream(__u32 index, struct place* place) {
  struct ext4_sb_info___goals* sbi = (void*)place->sbi;
  struct e4r_memory out = {.kind = E4R_MEMORY_STREAM, .index = index};
  unsigned int* goals = BPF_CORE_READ(sbi, s_mb_last_groups);
  bpf_probe_read_kernel(&out.group, sizeof(out.group), goals + index);
  send(&out);
  return 0;
}

/* Returns the number of streams. */
static __always_inline __u32 read_streams(struct place* place) {
  struct ext4_sb_info___goals* several = (void*)place->sbi;
  struct ext4_sb_info___one_goal* one = (void*)place->sbi;
  if (bpf_core_field_exists(several->s_mb_nr_global_goals)) {
    const __u32 count = BPF_CORE_READ(several, s_mb_nr_global_goals);
    bpf_loop(count, read_stream, place, 0);
    return count;
  }
  if (bpf_core_field_exists(one->s_mb_last_group)) {
    const struct e4r_memory out = {.kind = E4R_MEMORY_STREAM,
                                   .group = BPF_CORE_READ(one, s_mb_last_group),
                                   .start = BPF_CORE_READ(one, s_mb_last_start)};
    send(&out);
    return 1;
  }
  return 0;
}

SEC("iter/task_file")
int read_memory(struct bpf_iter__task_file* context) {
  struct e4r_memory end = {.kind = E4R_MEMORY_END};
  struct place place = {};
  struct super_block* sb;
  struct ext4_sb_info* sbi;
  struct file* file = context->file;
  if (!file || has_read) return 0;
  sb = BPF_CORE_READ(file, f_inode, i_sb);
  if (BPF_CORE_READ(sb, s_dev) != settings.dev) return 0;
  has_read = 1;
  sbi = place.sbi = BPF_CORE_READ(sb, s_fs_info);
  bpf_loop(BPF_CORE_READ(sbi, s_groups_count), read_group, &place, 0);
  end.index = read_streams(&place);
  end.count = sent;
  send(&end);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
