// SPDX-License-Identifier: GPL-2.0-only
// Shows bytes that direct writes lose at EOF, on blocks of 4 KiB: dio-eof VARIANT DIRECTORY
//   overlap: a write up to EOF is in flight; a write of the whole last block extends the file
//   append: ... a write of the next block extends the file; then the last block is filled
//   truncate: ... ftruncate() extends the file; then the last block is filled
//   inside: a write before EOF, in the last block, is in flight; ftruncate() extends the file
// Exit status: 0 if no bytes are lost in ten seconds, 1 if some are, 2 if the test could not run.
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define MUST(call) ((call) ? (void)0 : err(2, "%s", #call))
enum { kSector = 512, kBlock = 4096, kLast = 128 * kBlock, kIdle = 3 << 13, kNormal = 2 << 13 | 4 };
static _Alignas(kBlock) char old[kBlock], early[kBlock], late[kBlock], found[kBlock],
    expected[kBlock];
static aio_context_t context;
static int fd, in_flight;
static void start(char* data, int count, off_t at) {
  struct iocb io = {.aio_fildes = fd, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_nbytes = count};
  struct iocb* one = &io;
  io.aio_buf = (unsigned long)data, io.aio_offset = at;
  MUST(syscall(SYS_io_submit, context, 1, &one) == 1 && ++in_flight);
}
int main(int argc, char** argv) {
  const char variant = argc == 3 && *argv[1] ? *argv[1] : '?';
  const off_t end = kLast + kBlock - kSector, from = end - (variant == 'i' ? 2 : 1) * kSector;
  if (!strchr("oati", variant)) errx(2, "overlap|append|truncate|inside DIRECTORY");
  MUST(chdir(argv[2]) == 0 && syscall(SYS_io_setup, 256, &context) == 0);
  MUST((fd = open("dio-eof.tmp", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600)) >= 0);
  memset(old, 'o', kBlock), memset(early, 'e', kBlock), memset(late, 'l', kBlock);
  memset(expected, 'o', kBlock), memset(expected + (from - kLast), 'e', kSector);
  memset(expected + (end - kLast), variant == 'i' ? 0 : 'l', kSector);
  for (off_t at = 0; at < kLast; at += kBlock) MUST(pwrite(fd, old, kBlock, at) == kBlock);
  for (long round = 1, until = time(NULL) + 10; time(NULL) < until; ++round) {
    MUST(ftruncate(fd, kLast + kBlock) == 0 && pwrite(fd, old, kBlock, kLast) == kBlock);
    MUST(ftruncate(fd, end) == 0 && fsync(fd) == 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    for (off_t at = 0; at < kLast; at += 2 * kBlock) start(old, kBlock, at);  // a busy disk
    syscall(SYS_ioprio_set, 1, 0, kIdle);  // a scheduler, if any, serves the next write late
    start(early, kSector, from);
    syscall(SYS_ioprio_set, 1, 0, kNormal);
    if (variant == 'o') start(late, kBlock, kLast);
    for (off_t at = 0; variant == 'a' && at < kLast; at += 2 * kBlock) start(old, kBlock, at);
    if (variant == 'a') MUST(pwrite(fd, late, kBlock, kLast + kBlock) == kBlock);
    if (strchr("ti", variant)) MUST(ftruncate(fd, kLast + 2 * kBlock) == 0);
    if (strchr("at", variant)) MUST(pwrite(fd, late, kSector, end) == kSector);
    for (struct io_event event; in_flight > 0; --in_flight)
      MUST(syscall(SYS_io_getevents, context, 1, 1, &event, 0) == 1 && event.res > 0);
    if (fsync(fd) != 0) warn("fsync afterwards");
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    MUST(pread(fd, found, kBlock, kLast) == kBlock);
    int i = variant == 'o' ? end - kLast : 0;  // the rest may be of either write
    while (i < kBlock && found[i] == expected[i]) ++i;
    if (i < kBlock)
      return printf("%s, round %ld: byte %d of the last block is %#x, not %#x\n", argv[1], round, i,
                    found[i], expected[i]) > 0;
  }
  return printf("%s: all bytes as written\n", argv[1]) <= 0;
}
