// SPDX-License-Identifier: GPL-2.0-or-later
// A library for LD_PRELOAD. It simulates a file or block device whose parts are unreadable until
// they are written, as with dm-integrity without a wipe. UNWRITTEN=FILE:MAP names the file and its
// map. The map has one byte for each page of FILE: 1 if the page was written. All processes share
// the map. MAP.log lists the reads that failed.
//
// A write to part of an unreadable page also fails, because the page cache would have to read the
// rest of the page. BLKDISCARD makes whole pages unreadable again. fallocate() writes zeros in all
// its modes, as on a device. SEEK_DATA finds no holes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kPage = 4096 };
static unsigned char* written;
static off_t pages;
static struct stat file;
static char log_name[4096];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
  const char* text = getenv("UNWRITTEN");
  if (text == NULL) return;
  char* name = strdup(text);
  char* colon = strrchr(name, ':');
  if (colon == NULL) abort();
  *colon = 0;
  struct stat map;
  const int fd = open(colon + 1, O_RDWR | O_CLOEXEC);
  if (stat(name, &file) != 0 || fd < 0 || fstat(fd, &map) != 0) abort();
  pages = map.st_size;
  written = mmap(NULL, (size_t)pages, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (written == MAP_FAILED) abort();
  snprintf(log_name, sizeof log_name, "%s.log", colon + 1);
  close(fd);
  free(name);
}

static int is_ours(int fd) {
  struct stat st;
  if (written == NULL || fstat(fd, &st) != 0) return 0;
  if (S_ISBLK(file.st_mode)) return S_ISBLK(st.st_mode) && st.st_rdev == file.st_rdev;
  return st.st_ino == file.st_ino && st.st_dev == file.st_dev;
}

static void note_written(int fd, off_t at, off_t length) {
  if (length <= 0 || !is_ours(fd)) return;
  for (off_t page = at / kPage; page <= (at + length - 1) / kPage && page < pages; ++page)
    written[page] = 1;
}

static void note_discarded(int fd, off_t at, off_t length) {
  if (!is_ours(fd)) return;
  for (off_t page = (at + kPage - 1) / kPage; page < (at + length) / kPage && page < pages; ++page)
    written[page] = 0;
}

// Fails with EILSEQ, as dm-integrity does.
static int is_unreadable(int fd, off_t at, off_t length) {
  if (length <= 0 || !is_ours(fd)) return 0;
  for (off_t page = at / kPage; page <= (at + length - 1) / kPage && page < pages; ++page) {
    if (written[page]) continue;
    const int log = open(log_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    dprintf(log, "%s: page %ld\n", program_invocation_short_name, (long)page);
    close(log);
    errno = EILSEQ;
    return 1;
  }
  return 0;
}

static int is_unwritable(int fd, off_t at, off_t length) {
  const off_t end = at + length;
  return (at % kPage != 0 && is_unreadable(fd, at, 1)) ||
         (end % kPage != 0 && is_unreadable(fd, end - 1, 1));
}

ssize_t pread64(int fd, void* data, size_t n, off64_t at) {
  return is_unreadable(fd, at, (off_t)n) ? -1 : REAL(pread64)(fd, data, n, at);
}
ssize_t pread(int fd, void* data, size_t n, off_t at) {
  return pread64(fd, data, n, at);
}
ssize_t read(int fd, void* data, size_t n) {
  if (is_ours(fd) && is_unreadable(fd, REAL(lseek64)(fd, 0, SEEK_CUR), (off_t)n)) return -1;
  return REAL(read)(fd, data, n);
}
ssize_t pwrite64(int fd, const void* data, size_t n, off64_t at) {
  if (is_unwritable(fd, at, (off_t)n)) return -1;
  const ssize_t done = REAL(pwrite64)(fd, data, n, at);
  note_written(fd, at, done);
  return done;
}
ssize_t pwrite(int fd, const void* data, size_t n, off_t at) {
  return pwrite64(fd, data, n, at);
}
ssize_t write(int fd, const void* data, size_t n) {
  if (!is_ours(fd)) return REAL(write)(fd, data, n);
  const off_t at = REAL(lseek64)(fd, 0, SEEK_CUR);
  if (is_unwritable(fd, at, (off_t)n)) return -1;
  const ssize_t done = REAL(write)(fd, data, n);
  note_written(fd, at, done);
  return done;
}

off64_t lseek64(int fd, off64_t at, int whence) {
  if ((whence != SEEK_DATA && whence != SEEK_HOLE) || !is_ours(fd))
    return REAL(lseek64)(fd, at, whence);
  const off64_t end = REAL(lseek64)(fd, 0, SEEK_END);
  if (at < end) return whence == SEEK_DATA ? at : end;
  errno = ENXIO;
  return -1;
}
off_t lseek(int fd, off_t at, int whence) {
  return lseek64(fd, at, whence);
}

int fallocate64(int fd, int mode, off64_t at, off64_t length) {
  const int failed = REAL(fallocate64)(fd, mode, at, length);
  if (failed == 0) note_written(fd, at, length);
  return failed;
}
int fallocate(int fd, int mode, off_t at, off_t length) {
  return fallocate64(fd, mode, at, length);
}

int ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  const int failed = REAL(ioctl)(fd, request, argument);
  if (failed != 0 || (request != BLKZEROOUT && request != BLKDISCARD)) return failed;
  uint64_t range[2];
  memcpy(range, argument, sizeof range);
  if (request == BLKDISCARD)
    note_discarded(fd, (off_t)range[0], (off_t)range[1]);
  else
    note_written(fd, (off_t)range[0], (off_t)range[1]);
  return 0;
}
