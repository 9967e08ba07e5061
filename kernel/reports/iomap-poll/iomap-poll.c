// SPDX-License-Identifier: GPL-2.0-only
// Writes some sectors of a block through io_uring with IORING_SETUP_IOPOLL, in the middle of a file
// and up to EOF.
//   iomap-poll FILE    creates FILE; needs a disk with sectors of 512 bytes and a poll queue
// Exit status: 0 if all writes succeed, 1 if one fails or takes longer than a second, 2 if the test
// cannot run.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static int give_up(const char* what) {
  perror(what);
  return 2;
}

int main(int argc, char** argv) {
  struct io_uring_params p = {.flags = IORING_SETUP_IOPOLL};
  const struct { long size, offset; } writes[] = {{4608, 0}, {4608, 4096}, {8192, 7680}};
  int failed = 0;
  char* data;

  if (argc != 2 || posix_memalign((void**)&data, 4096, 8192)) return 2;
  memset(data, 'a', 8192);
  unlink(argv[1]);
  int fd = open(argv[1], O_RDWR | O_CREAT | O_DIRECT, 0600);
  if (fd < 0 || pwrite(fd, data, 8192, 0) != 8192 || fsync(fd)) return give_up(argv[1]);
  int ring = syscall(__NR_io_uring_setup, 8, &p);
  if (ring < 0) return give_up("io_uring_setup");
  char* sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE,
                  MAP_SHARED, ring, IORING_OFF_SQ_RING);
  char* cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
                  PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
  struct io_uring_sqe* sqe = mmap(NULL, p.sq_entries * sizeof *sqe, PROT_READ | PROT_WRITE,
                                  MAP_SHARED, ring, IORING_OFF_SQES);
  if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED) return give_up("mmap");
  for (unsigned i = 0; i < 3; i++) {
    if (ftruncate(fd, writes[i].size) || fsync(fd)) return give_up(argv[1]);
    *sqe = (struct io_uring_sqe){.opcode = IORING_OP_WRITE,
                                 .fd = fd,
                                 .addr = (unsigned long)data,
                                 .len = 512,
                                 .off = writes[i].offset};
    ((unsigned*)(sq + p.sq_off.array))[i] = 0;
    __atomic_store_n((unsigned*)(sq + p.sq_off.tail), i + 1, __ATOMIC_RELEASE);
    double begun = seconds();
    int submitted = syscall(__NR_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    while (__atomic_load_n((unsigned*)(cq + p.cq_off.tail), __ATOMIC_ACQUIRE) == i &&
           seconds() - begun < 100)
      syscall(__NR_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    if (*(unsigned*)(cq + p.cq_off.tail) == i) return give_up("no completion");
    int result = ((struct io_uring_cqe*)(cq + p.cq_off.cqes))[i].res;
    double took = seconds() - begun;
    printf("polled write of 512 bytes at %ld, EOF at %ld: submitted %d, result %d after %.3f s\n",
           writes[i].offset, writes[i].size, submitted, result, took);
    failed |= result != 512 || took > 1;
    __atomic_store_n((unsigned*)(cq + p.cq_off.head), i + 1, __ATOMIC_RELEASE);
  }
  return failed;
}
