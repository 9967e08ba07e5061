// SPDX-License-Identifier: GPL-2.0-only
// Compares the times of direct writes that are sequential and concurrent. Each writes part of its
// own block.
//   partial-beside THREADS written|unwritten|hole FILE
// The file gets 2 * THREADS blocks of this kind, in two halves. First the program writes one sector
// to each block of the first half, one after the other. Then it writes one sector to each block of
// the second half, with one thread per block. It measures both times. Every block must then hold
// the new sector and, before and after it, the old contents. Prints "side by side" if the second
// half took less than half of the time of the first half, otherwise "one after the other". Exit
// status: 1 if the contents of a block are wrong, 2 if a call fails.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { kSector = 512, kMost = 64, kLargest = 65536 };
static int fd;
static off_t block;
static char* sector;  // the contents that are written

static void check(int good, const char* what) {
  if (!good) fprintf(stderr, "partial-beside: %s: %s\n", what, errno ? strerror(errno) : "no");
  if (!good) exit(2);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Returns the offset of block N. A gap of one block separates any two of them.
static off_t at(long n) {
  return 2 * n * block;
}

static void* write_part(void* n) {
  check(pwrite(fd, sector, kSector, at((long)n) + kSector) == kSector, "direct write");
  return NULL;
}

static void make(const char* kind, long n, const char* data) {
  if (*kind == 'w')
    check(pwrite(fd, data, (size_t)block, at(n)) == block, "direct write of a block");
  if (*kind == 'u') check(fallocate(fd, FALLOC_FL_KEEP_SIZE, at(n), block) == 0, "fallocate");
}

int main(int argc, char** argv) {
  const long threads = argc == 4 ? atol(argv[1]) : 0;
  check(threads > 0 && threads <= kMost && strchr("wuh", *argv[2]),
        "usage: partial-beside THREADS written|unwritten|hole FILE");
  struct stat info;
  fd = open(argv[3], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
  check(fd >= 0 && fstat(fd, &info) == 0, argv[3]);
  block = info.st_blksize;
  char* buffers = aligned_alloc(kLargest, 3 * kLargest);
  check(block >= 2 * kSector && block <= kLargest && buffers, "blocks of 1 to 64 KiB");
  char *data = buffers, *found = buffers + kLargest;
  sector = buffers + 2 * kLargest;
  memset(data, 'o', (size_t)block);
  memset(sector, 'n', kSector);
  check(ftruncate(fd, at(2 * threads)) == 0, "ftruncate");
  for (long n = 0; n < 2 * threads; ++n) make(argv[2], n, data);
  check(fsync(fd) == 0, "fsync");

  const double before = now();
  for (long n = 0; n < threads; ++n) write_part((void*)n);
  const double between = now();
  pthread_t thread[kMost];
  for (long n = 0; n < threads; ++n)
    check((errno = pthread_create(&thread[n], NULL, write_part, (void*)(threads + n))) == 0,
          "thread");
  for (long n = 0; n < threads; ++n) pthread_join(thread[n], NULL);
  const double after = now();

  if (*argv[2] != 'w') memset(data, 0, (size_t)block);
  memset(data + kSector, 'n', kSector);
  for (long n = 0; n < 2 * threads; ++n) {
    check(pread(fd, found, (size_t)block, at(n)) == block, "direct read");
    if (memcmp(found, data, (size_t)block) != 0) {
      printf("%s: block %ld is not what it should be\n", argv[2], n);
      return 1;
    }
  }
  fprintf(stderr, "%s: %ld writes, %.3f s one after the other, %.3f s side by side\n", argv[2],
          threads, between - before, after - between);
  printf("%s: %s\n", argv[2],
         after - between < (between - before) / 2 ? "side by side" : "one after the other");
  return 0;
}
