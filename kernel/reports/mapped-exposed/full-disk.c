// SPDX-License-Identifier: GPL-2.0-only
// Fills a disk, then writes back every other page, so that blocks which are unwritten until their
// data is on the disk split into many extents: full-disk DIRECTORY. The tree of extents then needs
// new blocks. Exit status: 0 if no data is lost, 1 if some is, 2 if the test could not run.
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { kPage = 4096 };
static long data[kPage / sizeof(long)], found[kPage / sizeof(long)];

// fill PAGE: makes the contents of this page of the file.
static void fill(long page) {
  for (size_t i = 0; i < kPage / sizeof(long); ++i) data[i] = ~page;
}

// free_blocks: returns the number of free blocks, with those that are reserved.
static long free_blocks(void) {
  struct statvfs fs;
  if (statvfs(".", &fs) != 0) err(2, "statvfs");
  return fs.f_bfree;
}

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) errx(2, "usage: full-disk DIRECTORY");
  const int fd = open("full-disk.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) err(2, "open");
  const int flags =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  long pages = 0, refused = 0, lost = 0;
  for (fill(0); pwrite(fd, data, kPage, pages * kPage) == kPage; fill(pages)) ++pages;
  if (errno != ENOSPC) err(2, "pwrite");
  const long before = free_blocks();
  for (long page = 0; page < pages; page += 2)
    refused += sync_file_range(fd, page * kPage, kPage, flags) != 0;
  const long after = free_blocks();
  const int synced = fsync(fd) == 0 ? 0 : errno;
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  for (long page = 0; page < pages; ++page) {
    fill(page);
    lost += pread(fd, found, kPage, page * kPage) != kPage || memcmp(data, found, kPage) != 0;
  }
  printf("%ld pages written; %ld blocks free, then %ld\n", pages, before, after);
  printf("%ld errors of sync_file_range, fsync: %s, %ld pages lost\n", refused,
         synced ? strerror(synced) : "success", lost);
  return lost > 0;
}
