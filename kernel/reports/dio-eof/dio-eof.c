// SPDX-License-Identifier: GPL-2.0-only
// Shows bytes that direct writes lose near the end of a file:
//   dio-eof [-s SECONDS] VARIANT DIRECTORY
//   overlap   a write up to EOF is in flight; a write of the whole last block extends the file
//   append    ... a write of the block after the last one; then of the rest of the last block
//   truncate  ... ftruncate() extends the file; then a write of the rest of the last block
//   inside    a write in the last block, before EOF, is in flight; ftruncate() extends the file
// Writes overlap only in "overlap", and there only bytes of a single write are checked.
// Exit status: 0 if all bytes are as written, 1 if not, 2 usage or environment.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kSector = 512, kFillers = 64, kIdle = 3 << 13, kBestEffort = 2 << 13 | 4 };
static aio_context_t context;
static char *old, *early, *late, *found, *expected;  // one block each

static void check(int good, const char* what) {
  if (!good) fprintf(stderr, "dio-eof: %s: %s\n", what, errno ? strerror(errno) : "no");
  if (!good) exit(2);
}

static void start(int fd, const char* data, size_t count, off_t offset) {
  struct iocb io = {.aio_fildes = fd, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_nbytes = count};
  struct iocb* one = &io;
  io.aio_buf = (unsigned long)data;
  io.aio_offset = offset;
  check(syscall(SYS_io_submit, context, 1, &one) == 1, "io_submit");
}

static void put(int fd, const char* data, size_t count, off_t offset) {
  check(pwrite(fd, data, count, offset) == (long)count, "direct write");
}

static int fill(int fd, off_t block) {  // keeps the disk busy
  for (int i = 0; i < kFillers; ++i) start(fd, old, block, 2 * i * block);
  return kFillers;
}

// Stores the contents of the last block in `found`, and the correct contents in `expected`.
static void one_round(int fd, char variant, off_t block, off_t last) {
  const off_t end = last + block - kSector, from = end - (variant == 'i' ? 2 : 1) * kSector;
  check(ftruncate(fd, last + block) == 0, "ftruncate");
  put(fd, old, block, last);
  check(ftruncate(fd, end) == 0 && fsync(fd) == 0, "ftruncate, fsync");  // zeros after `end`
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  int in_flight = fill(fd, block) + 1 + (variant == 'o');
  syscall(SYS_ioprio_set, 1, 0, kIdle);  // a scheduler, if any, serves this write late
  start(fd, early, kSector, from);
  syscall(SYS_ioprio_set, 1, 0, kBestEffort);
  if (variant == 'o') start(fd, late, block, last);
  if (variant == 'a') in_flight += fill(fd, block), put(fd, late, block, last + block);
  if (variant == 't' || variant == 'i') check(ftruncate(fd, last + 2 * block) == 0, "ftruncate");
  if (variant == 'a' || variant == 't') put(fd, late, kSector, end);
  for (struct io_event event; in_flight > 0; --in_flight)
    check(syscall(SYS_io_getevents, context, 1, 1, &event, 0) == 1 && event.res > 0, "AIO write");
  if (fsync(fd) != 0) fprintf(stderr, "dio-eof: fsync afterwards: %s\n", strerror(errno));
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  check(pread(fd, found, block, last) == block, "direct read");
  memcpy(expected, old, block);
  if (variant == 'o') memcpy(expected, found, block);  // data of either write, or of both
  if (variant != 'o') memcpy(expected + (from - last), early, kSector);
  memset(expected + (end - last), variant == 'i' ? 0 : *late, kSector);
}

int main(int argc, char** argv) {
  const int has_seconds = argc > 2 && strcmp(argv[1], "-s") == 0;
  const long seconds = has_seconds ? atol(argv[2]) : 10;
  const char *variant = argv[1 + 2 * has_seconds], *directory = argv[argc - 1];
  struct statvfs fs;
  if (argc != 3 + 2 * has_seconds || !*variant || !strchr("oati", *variant) || seconds <= 0)
    check(0, "usage: dio-eof [-s SECONDS] overlap|append|truncate|inside DIRECTORY");
  check(chdir(directory) == 0 && statvfs(".", &fs) == 0, directory);
  const off_t block = (off_t)fs.f_bsize, last = 2 * kFillers * block;
  check(block >= 4 * kSector && (old = aligned_alloc(65536, 5 * 65536)), "blocks of 2 to 64 KiB");
  early = old + 65536, late = early + 65536, found = late + 65536, expected = found + 65536;
  memset(old, 'o', 65536), memset(early, 'e', 65536), memset(late, 'l', 65536);
  const int fd = open("dio-eof.tmp", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
  check(fd >= 0, "open, O_DIRECT");
  for (off_t at = 0; at < last; at += block) put(fd, old, block, at);
  check(syscall(SYS_io_setup, 4 * kFillers, &context) == 0, "io_setup");
  const time_t until = time(NULL) + seconds;
  for (long round = 1; time(NULL) < until; ++round) {
    one_round(fd, *variant, block, last);
    for (int i = 0; i < block; ++i)
      if (found[i] != expected[i])
        return printf("%s, round %ld: byte %d of the last block is %#x, written was %#x\n", variant,
                      round, i, found[i], expected[i]) > 0;
  }
  return printf("%s: all bytes as written\n", variant) <= 0;
}
