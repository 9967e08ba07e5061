// SPDX-License-Identifier: GPL-2.0-only
// The series dio-overwrite keeps a set of the direct writes in flight (fs/ext4/dio.c). This program
// runs that code in many threads. It counts how often each write wakes a thread, and how often a
// woken thread checks the set. dio-set.sh builds and runs the program. CORE is dio.c without its
// includes. The kernel functions that dio.c needs are below. As in the kernel, wait_var_event()
// wakes all waiters for the same address.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/interval_tree_generic.h>
#include <linux/kernel.h>
#include <linux/rbtree.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef u32 ext4_lblk_t;

typedef struct {
  pthread_mutex_t mutex;
} spinlock_t;

struct ext4_dio_set {
  spinlock_t lock;
  u32 turn;
  struct rb_root_cached fills;
};

struct inode {
  unsigned int i_blkbits;
  struct ext4_dio_set i_dio_set;
};

struct file {
  struct inode* f_inode;
};

struct kiocb {
  loff_t ki_pos;
  int ki_flags;
  struct file* ki_filp;
};

struct ext4_dio_write {
  struct kiocb* iocb;
  size_t count;
  bool fills;
};

#define IOCB_NOWAIT 1
#define GFP_KERNEL 0
#define file_inode(file) ((file)->f_inode)
#define EXT4_I(inode) (inode)
#define kmalloc(size, gfp) malloc(size)
#define kmalloc_obj(variable) malloc(sizeof(variable))
#define kfree free
#define spin_lock_init(l) pthread_mutex_init(&(l)->mutex, NULL)
#define spin_lock(l) pthread_mutex_lock(&(l)->mutex)
#define spin_unlock(l) pthread_mutex_unlock(&(l)->mutex)
#define spin_lock_irq spin_lock
#define spin_unlock_irq spin_unlock
#define spin_lock_irqsave(l, flags) ((flags) = 0, spin_lock(l))
#define spin_unlock_irqrestore(l, flags) ((void)(flags), spin_unlock(l))
#ifndef RB_ROOT_CACHED
#define RB_ROOT_CACHED ((struct rb_root_cached){{NULL}, NULL})
#endif

struct waiter {
  const void* key;
  bool woken;
  pthread_cond_t cond;
  struct waiter* next;
};

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct waiter* queue;
static unsigned long wakeups, looks;

static void wake_up_var(const void* key) {
  struct waiter* w;

  pthread_mutex_lock(&queue_mutex);
  for (w = queue; w; w = w->next) {
    if (w->key != key || w->woken) continue;
    w->woken = true;
    ++wakeups;
    pthread_cond_signal(&w->cond);
  }
  pthread_mutex_unlock(&queue_mutex);
}

static void enqueue(struct waiter* w, const void* key) {
  pthread_mutex_lock(&queue_mutex);
  w->key = key;
  w->woken = false;
  w->next = queue;
  queue = w;
  pthread_mutex_unlock(&queue_mutex);
}

static void dequeue(struct waiter* w, bool wait) {
  struct waiter** p = &queue;

  pthread_mutex_lock(&queue_mutex);
  while (wait && !w->woken) pthread_cond_wait(&w->cond, &queue_mutex);
  while (*p != w) p = &(*p)->next;
  *p = w->next;
  pthread_mutex_unlock(&queue_mutex);
}

#define wait_var_event(key, condition) \
  do {                                 \
    struct waiter w_ = {0};            \
    bool done_ = condition;            \
    pthread_cond_init(&w_.cond, NULL); \
    while (!done_) {                   \
      enqueue(&w_, key);               \
      done_ = condition;               \
      dequeue(&w_, !done_);            \
    }                                  \
  } while (0)

#include CORE

#define THREADS 64
#define WRITES 50
#define BLOCKS 128

static struct inode inode;
static struct file file = {&inode};
static const char* pattern;
static int owners[BLOCKS];
static unsigned long overlaps;

// Notes that a write begins (`change` is 1) or ends (-1). Increments `overlaps` if another write in
// flight covers a part of the same block.
static void own(loff_t pos, size_t count, int change) {
  loff_t first = pos >> 12, last = (pos + count - 1) >> 12;
  bool head = pos & 4095, tail = (pos + count) & 4095;

  if (head && __atomic_add_fetch(&owners[first], change, __ATOMIC_SEQ_CST) > 1)
    __atomic_add_fetch(&overlaps, 1, __ATOMIC_SEQ_CST);
  if (tail && !(head && last == first) &&
      __atomic_add_fetch(&owners[last], change, __ATOMIC_SEQ_CST) > 1)
    __atomic_add_fetch(&overlaps, 1, __ATOMIC_SEQ_CST);
}

static void* write_many(void* arg) {
  long me = (long)arg;
  unsigned int draw = me * 2654435761u + 1;
  struct kiocb iocb = {.ki_filp = &file};
  int i;

  for (i = 0; i < WRITES; ++i) {
    size_t count = 512;
    long block = 0;

    draw = draw * 1103515245 + 12345;
    if (*pattern == 'e') block = me / 8;
    if (*pattern == 'r') {
      block = (draw >> 8) % 64;
      count = 512 * (1 + (draw >> 20) % 24);
    }
    iocb.ki_pos = block * 4096 + me % 8 * 512;
    if (ext4_dio_fill_begin(&iocb, count)) abort();
    own(iocb.ki_pos, count, 1);
    usleep(100);
    own(iocb.ki_pos, count, -1);
    ext4_dio_fill_end(&iocb, iocb.ki_pos);
  }
  return NULL;
}

int main(int argc, char** argv) {
  static const char* const patterns[] = {"one block", "eight blocks", "random"};
  pthread_t threads[THREADS];
  bool empty = true;
  unsigned int p;
  long i;

  (void)argc;
  for (p = 0; p < ARRAY_SIZE(patterns); ++p) {
    pattern = patterns[p];
    wakeups = looks = 0;
    inode.i_blkbits = 12;
    ext4_dio_set_init(&inode.i_dio_set);
    inode.i_dio_set.turn = -1000u;  // so that it wraps around
    for (i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, write_many, (void*)i);
    for (i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    empty = empty && !inode.i_dio_set.fills.rb_root.rb_node;
    printf("%s: %s: woken %.2f, looked %.2f times for a write\n", argv[0], pattern,
           (double)wakeups / (THREADS * WRITES), (double)looks / (THREADS * WRITES));
  }
  if (overlaps || !empty)
    printf("%s: %lu writes met, set %sempty\n", argv[0], overlaps, empty ? "" : "not ");
  return overlaps || !empty;
}
