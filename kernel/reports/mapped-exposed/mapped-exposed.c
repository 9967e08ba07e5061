// SPDX-License-Identifier: GPL-2.0-only
// Shows old data of the disk in direct reads during stores through a mapping:
//   mapped-exposed [-s SECONDS] BYTE DIRECTORY
// The free blocks of DIRECTORY's file system must be full of BYTE (a number). A thread stores zeros
// through a mapping to the pages of a hole, one after the other. Concurrent direct reads of the
// hole must find only zeros. With delayed allocation, the blocks of a page may not be allocated
// yet. The kernel then fails the read with EIO on purpose: iomap_dio_iter().
// Exit status: 0 if only zeros were found, 1 if BYTE was found, 2 for a wrong usage or environment.
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kSize = 8 << 20, kWindow = 64 << 10 };
static volatile char* mapped;
static atomic_long stored;  // end of the stores so far
static long page, reads, failed;

static void check(int good, const char* what) {
  if (!good) error(2, errno, "%s", what);
}

static void* store(void* unused) {
  (void)unused;
  for (; stored < kSize; stored += page) mapped[stored] = 0;
  return NULL;
}

// One round: fills a new hole. Returns the number of sectors of old data that were read.
static long filled(char byte, char* found) {
  long old = 0;
  pthread_t thread;
  const int file = open("mapped-exposed", O_RDWR | O_CREAT | O_TRUNC, 0600);
  const int disk = open("mapped-exposed", O_RDONLY | O_DIRECT);
  check(file >= 0 && disk >= 0 && ftruncate(file, kSize) == 0, "mapped-exposed");
  mapped = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  check(mapped != MAP_FAILED, "mmap");
  stored = 0;
  check(!pthread_create(&thread, NULL, store, NULL), "start a thread");
  for (long at; (at = stored) < kSize; ++reads) {
    // Read the pages of the last stores, which the kernel has to write first, and the next pages.
    const long from = at > kWindow / 2 ? at - kWindow / 2 : 0;
    const long count = pread(disk, found, kWindow, from);
    check(count >= 0 || errno == EIO, "direct read");
    failed += count < 0;
    for (long i = 0; i < count; i += 512) old += found[i] == byte;
  }
  pthread_join(thread, NULL);
  munmap((void*)mapped, kSize);
  close(disk);
  close(file);
  return old;
}

int main(int argc, char** argv) {
  long seconds = 10, old = 0, rounds = 0;
  char* found;
  for (int option; (option = getopt(argc, argv, "s:")) == 's';) seconds = atol(optarg);
  check(argc - optind == 2 && seconds > 0, "usage: mapped-exposed [-s SECONDS] BYTE DIRECTORY");
  const char byte = (char)atol(argv[optind]);
  check(byte != 0, "give a byte that is not zero");
  check(chdir(argv[optind + 1]) == 0, argv[optind + 1]);
  page = sysconf(_SC_PAGESIZE);
  check(!posix_memalign((void**)&found, page, kWindow), "memory");
  for (const time_t until = time(NULL) + seconds; time(NULL) < until; ++rounds)
    old += filled(byte, found);
  printf("%ld sectors of old data in %ld direct reads of %ld holes, %ld reads failed\n", old, reads,
         rounds, failed);
  return old != 0;
}
