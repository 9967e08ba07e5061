// SPDX-License-Identifier: GPL-2.0-only
// Shows stores through a mapping that are lost when a part of their page is zeroed or punched, with
// blocks smaller than a page:  mapped-store [-s SECONDS] VARIANT DIRECTORY
//   zero    one thread stores to pages, zeroes a part of them (FALLOC_FL_ZERO_RANGE), and stores
//           there again
//   punch   one thread repeatedly punches a block and then stores to it; while it punches, another
//           thread stores to a block next to it
// Exit status: 0 if all bytes reached the disk, 1 if not, 2 usage or environment.
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static long page, block;
static int file, disk;         // the same file, with and without the page cache
static volatile char* mapped;  // the first three pages of the file
static char* found;            // the contents of these pages on the disk
static atomic_int finished, punching, storing;

static void check(int good, const char* what) {
  if (!good) error(2, errno, "%s", what);
}

static void* store_beside(void* unused) {
  (void)unused;
  while (!finished) {
    storing = punching;
    if (storing)
      ++mapped[0];
    else
      sched_yield();
  }
  return NULL;
}

static void read_disk(void) {
  check(fsync(file) == 0 && pread(disk, found, 3 * page, 0) == 3 * page,
        "read what is on the disk");
}

static long zero(void) {
  long lost = 0;
  memset((char*)mapped + page / 2, 'b', 2 * page);
  check(fallocate(file, FALLOC_FL_ZERO_RANGE, page / 2, 2 * page) == 0, "zero a range");
  memset((char*)mapped + page / 2, 'c', 2 * page);
  read_disk();
  for (long i = 0; i < 2 * page; ++i) lost += found[page / 2 + i] != 'c';
  printf("zero: %ld of %ld bytes are lost\n", lost, 2 * page);
  return lost;
}

static long punch(time_t until) {
  long rounds = 0, lost = 0;
  pthread_t beside;
  check(!pthread_create(&beside, NULL, store_beside, NULL), "start a thread");
  for (; time(NULL) < until; ++rounds) {
    const char value = (char)(1 + rounds % 100);
    punching = 1;
    while (!storing) sched_yield();
    check(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, block, block) == 0, "punch");
    punching = 0;
    while (storing) sched_yield();
    mapped[block] = value;
    read_disk();
    lost += found[block] != value;
  }
  finished = 1;
  pthread_join(beside, NULL);
  printf("punch: in %ld of %ld rounds the byte is lost\n", lost, rounds);
  return lost;
}

int main(int argc, char** argv) {
  long seconds = 10;
  struct statvfs about;
  for (int option; (option = getopt(argc, argv, "s:")) == 's';) seconds = atol(optarg);
  check(argc - optind == 2 && seconds > 0, "usage: mapped-store [-s SECONDS] zero|punch DIRECTORY");
  check(chdir(argv[optind + 1]) == 0 && statvfs(".", &about) == 0, argv[optind + 1]);
  page = sysconf(_SC_PAGESIZE);
  block = (long)about.f_bsize;
  check(block < page, "a file system whose blocks are smaller than a page is needed");
  file = open("mapped-store", O_RDWR | O_CREAT | O_TRUNC, 0600);
  disk = open("mapped-store", O_RDONLY | O_DIRECT);
  check(file >= 0 && disk >= 0 && !posix_memalign((void**)&found, page, 3 * page), "mapped-store");
  memset(found, 'a', 3 * page);
  check(pwrite(file, found, 3 * page, 0) == 3 * page && fsync(file) == 0, "write");
  mapped = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  check(mapped != MAP_FAILED, "mmap");
  const char* variant = argv[optind];
  check(!strcmp(variant, "zero") || !strcmp(variant, "punch"), "which variant: zero or punch?");
  return (*variant == 'z' ? zero() : punch(time(NULL) + seconds)) != 0;
}
