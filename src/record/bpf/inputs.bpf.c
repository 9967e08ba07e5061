// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads what the events that open and close an allocation do not print: the file's size and
 * whether it is open for writing, the goal before trimming, and the locality group. libbpf
 * relocates the program to the running kernel's structures (its BTF); the structures below declare
 * only the members that it reads.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "messages.h"

#define OF_THE_KERNEL __attribute__((preserve_access_index))

struct super_block {
  unsigned int s_dev;
  void* s_fs_info;
} OF_THE_KERNEL;

typedef struct {
  int counter;
} atomic_t;

struct inode {
  struct super_block* i_sb;
  unsigned long i_ino;
  long long i_size;
  atomic_t i_writecount;
} OF_THE_KERNEL;

struct ext4_allocation_request {
  struct inode* inode;
  unsigned int len;
  __u32 logical;
} OF_THE_KERNEL;

struct ext4_free_extent {
  __u32 fe_logical;
  int fe_len;
} OF_THE_KERNEL;

struct ext4_allocation_context {
  struct inode* ac_inode;
  struct ext4_free_extent ac_o_ex;
  int ac_orig_goal_len;
  void* ac_lg;
} OF_THE_KERNEL;

struct ext4_sb_info {
  void* s_locality_groups;
} OF_THE_KERNEL;

const volatile struct e4r_input_settings settings = {};

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} inputs SEC(".maps");

/* Reserves a record and sets the members of both kinds; NULL for another file system's event. */
static __always_inline struct e4r_input* begin(struct inode* inode, __u32 kind) {
  struct e4r_input* in;
  if (inode->i_sb->s_dev != settings.dev) return NULL;
  in = bpf_ringbuf_reserve(&inputs, sizeof(*in), 0);
  if (!in) return NULL; /* the recorder notices that the record is missing */
  in->time_ns = settings.boot_time ? bpf_ktime_get_boot_ns() : bpf_ktime_get_ns();
  in->ino = inode->i_ino;
  in->kind = kind;
  in->cpu = bpf_get_smp_processor_id();
  in->pid = (__u32)bpf_get_current_pid_tgid();
  in->i_size = in->group_offset = 0;
  in->orig_goal_len = in->unused = 0;
  in->i_writecount = 0;
  return in;
}

/* The recorder polls, so there is no wakeup. */
static __always_inline int end(struct e4r_input* in) {
  bpf_ringbuf_submit(in, BPF_RB_NO_WAKEUP);
  return 0;
}

SEC("tp_btf/ext4_request_blocks")
int BPF_PROG(on_request, struct ext4_allocation_request* ar) {
  struct inode* inode = ar->inode;
  struct e4r_input* in = begin(inode, E4R_INPUT_REQUEST);
  if (!in) return 0;
  in->logical = ar->logical;
  in->len = ar->len;
  in->i_size = inode->i_size;
  in->i_writecount = inode->i_writecount.counter;
  return end(in);
}

static __always_inline int closing(struct ext4_allocation_context* ac) {
  struct inode* inode = ac->ac_inode;
  struct e4r_input* in = begin(inode, E4R_INPUT_CLOSING);
  struct ext4_sb_info* sbi;
  __u64 group;
  if (!in) return 0;
  in->logical = ac->ac_o_ex.fe_logical;
  in->len = ac->ac_o_ex.fe_len;
  if (bpf_core_field_exists(ac->ac_orig_goal_len)) in->orig_goal_len = ac->ac_orig_goal_len;
  group = (__u64)BPF_CORE_READ(ac, ac_lg);
  if (group) {
    sbi = inode->i_sb->s_fs_info;
    in->group_offset = group - (__u64)BPF_CORE_READ(sbi, s_locality_groups);
  }
  return end(in);
}

SEC("tp_btf/ext4_mballoc_alloc")
int BPF_PROG(on_search, struct ext4_allocation_context* ac) {
  return closing(ac);
}

SEC("tp_btf/ext4_mballoc_prealloc")
int BPF_PROG(on_hit, struct ext4_allocation_context* ac) {
  return closing(ac);
}

char LICENSE[] SEC("license") = "GPL";
