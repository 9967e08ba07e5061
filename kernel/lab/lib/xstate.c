// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loaded into a User Mode Linux of 6.1 (LD_PRELOAD), so that it runs on
 * processors with AMX. That UML keeps 2,696 bytes of extended state for each of
 * its threads (HOST_FP_SIZE in arch/x86/um/user-offsets.c). Hosts accept only
 * the complete state in PTRACE_SETREGSET (xstateregs_set(),
 * arch/x86/kernel/fpu/regset.c), about 11,000 bytes with AMX. Otherwise they
 * return EFAULT, and the guest's first process dies. Guests do not use AMX. So
 * this library overlays UML's bytes on the current state of the thread.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long (*ptrace_function)(int, pid_t, void*, void*);

long ptrace(enum __ptrace_request request, ...) {
  static ptrace_function real;
  static char all[1 << 16]; /* only one thread of UML calls this */
  struct iovec whole = {all, sizeof all};
  const struct iovec* part;
  va_list list;
  pid_t pid;
  void *addr, *data;

  va_start(list, request);
  pid = va_arg(list, pid_t);
  addr = va_arg(list, void*);
  data = va_arg(list, void*);
  va_end(list);
  if (!real) real = (ptrace_function)dlsym(RTLD_NEXT, "ptrace");
  if (request != PTRACE_SETREGSET || addr != (void*)NT_X86_XSTATE)
    return real(request, pid, addr, data);
  if (real(PTRACE_GETREGSET, pid, addr, &whole) < 0) return -1;
  part = data;
  memcpy(all, part->iov_base, part->iov_len < whole.iov_len ? part->iov_len : whole.iov_len);
  return real(request, pid, addr, &whole);
}
