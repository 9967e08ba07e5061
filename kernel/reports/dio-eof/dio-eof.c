// SPDX-License-Identifier: GPL-2.0-only
// Shows bytes that direct writes lose at EOF, on blocks of 4 KiB: dio-eof VARIANT DIRECTORY
// A write up to EOF is in flight (inside: a write before EOF). A write of the whole last block
// (overlap), a write of the next block (append) or ftruncate() (truncate, inside) extends the file.
// Then a write fills the rest of the block (append, truncate).
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
enum { kSector = 512, kBlock = 4096, kLast = 128 * 4096, kNext = 129 * 4096, kEnd = kNext - 512 };
static _Alignas(kBlock) char old[kNext], early[kSector], late[kBlock], found[kBlock];
static aio_context_t context;
static int fd;
static void start(char* data, int count, off_t at) {
  struct iocb io = {.aio_fildes = fd, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_nbytes = count};
  io.aio_buf = (unsigned long)data, io.aio_offset = at;
  syscall(SYS_ioprio_set, 1, 0, data == early ? 3 << 13 : 0);  // idle: a scheduler serves it late
  MUST(syscall(SYS_io_submit, context, 1, (struct iocb*[]){&io}) == 1);
}
int main(int argc, char** argv) {
  const char kind = argc == 3 && *argv[1] ? *argv[1] : '?';
  if (!strchr("oati", kind)) errx(2, "overlap|append|truncate|inside DIRECTORY");
  const int from = kEnd - (kind == 'i' ? 2 : 1) * kSector, writes = kind == 'a' ? 129 : 66;
  MUST(chdir(argv[2]) == 0 && syscall(SYS_io_setup, 256, &context) == 0);
  MUST((fd = open("dio-eof.tmp", O_RDWR | O_CREAT | O_DIRECT, 0600)) >= 0);
  memset(old, 'o', kNext), memset(early, 'e', kSector), memset(late, 'l', kBlock);
  for (long round = 1, until = time(NULL) + 10; time(NULL) < until; ++round) {
    MUST(pwrite(fd, old, kNext, 0) == kNext && ftruncate(fd, kEnd) == 0), fsync(fd);
    for (int i = 0; i < 64; ++i) start(old, kBlock, 2 * i * kBlock);  // a busy disk
    start(early, kSector, from);
    for (int i = 65; i < writes; ++i) start(old, kBlock, 2 * (i - 65) * kBlock);
    if (strchr("oa", kind)) MUST(pwrite(fd, late, kBlock, kind == 'o' ? kLast : kNext) == kBlock);
    if (strchr("ti", kind)) MUST(ftruncate(fd, kNext + kBlock) == 0);
    if (strchr("at", kind)) MUST(pwrite(fd, late, kSector, kEnd) == kSector);
    MUST(syscall(SYS_io_getevents, context, writes, writes, (struct io_event[129]){{0}}, 0) > 0);
    if (fsync(fd) != 0) warn("fsync afterwards");
    MUST(pread(fd, found, kBlock, kLast) == kBlock);
    for (int i = kind == 'o' ? kEnd : from; i < (kind == 'i' ? from + kSector : kNext); ++i)
      if (found[i - kLast] != (i < kEnd ? 'e' : 'l'))
        errx(1, "round %ld: byte %d of the last block is %#x", round, i - kLast, found[i - kLast]);
  }
  printf("%s: all bytes as written\n", argv[1]);
}
