// SPDX-License-Identifier: GPL-2.0-only
// Works on a file in which every second block has been written but not written back: each such
// block is a separate delayed extent.
//   es-sparse write FILE BLOCKS         makes the file, with BLOCKS blocks of data
//   es-sparse read FILE BLOCKS HOLES    reads HOLES of the blocks in between, evenly spaced
//   es-sparse seek FILE BLOCKS          checks SEEK_DATA and SEEK_HOLE from each block
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void check(int good, const char* what) {
  if (!good) fprintf(stderr, "es-sparse: %s: %s\n", what, errno ? strerror(errno) : "no");
  if (!good) exit(2);
}

// Checks the result of lseek() from the first byte of a block.
static int expect(int fd, off_t from, int what, off_t wanted) {
  const off_t found = lseek(fd, from, what);
  if (found == wanted) return 1;
  printf("%s from %lld: %lld, not %lld\n", what == SEEK_DATA ? "SEEK_DATA" : "SEEK_HOLE",
         (long long)from, (long long)found, (long long)wanted);
  return 0;
}

int main(int argc, char** argv) {
  struct statvfs fs;
  check(argc >= 4, "usage: es-sparse write|read|seek FILE BLOCKS [HOLES]");
  const int fd = open(argv[2], O_RDWR | O_CREAT, 0600);
  const off_t blocks = atol(argv[3]), holes = argc > 4 ? atol(argv[4]) : 0;
  check(fd >= 0 && fstatvfs(fd, &fs) == 0, argv[2]);
  check(blocks > 1 && holes < blocks, "BLOCKS above 1, HOLES below BLOCKS");
  const off_t block = (off_t)fs.f_bsize;
  char* data = malloc((size_t)block);
  check(data != NULL, "memory");
  memset(data, 'x', (size_t)block);
  // Turn read-ahead off, so that the kernel reads only the requested blocks.
  check(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0, "posix_fadvise");
  if (strcmp(argv[1], "write") == 0) {
    for (off_t i = 0; i < blocks; ++i)
      check(pwrite(fd, data, (size_t)block, 2 * i * block) == block, "write");
  } else if (strcmp(argv[1], "read") == 0) {
    for (off_t i = 0; i < holes; ++i)
      check(pread(fd, data, (size_t)block, (2 * (i * (blocks - 1) / holes) + 1) * block) == block,
            "read");
  } else {
    int good = 1;
    for (off_t i = 0; good && i < blocks; ++i) {
      const off_t here = 2 * i * block, end = (2 * blocks - 1) * block;
      good = expect(fd, here, SEEK_DATA, here) && expect(fd, here, SEEK_HOLE, here + block);
      // The file ends after the last block.
      if (good && here + block < end) good = expect(fd, here + block, SEEK_DATA, here + 2 * block);
    }
    if (!good) return 1;
  }
  return 0;
}
