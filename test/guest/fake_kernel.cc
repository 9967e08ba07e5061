// SPDX-License-Identifier: GPL-2.0-or-later
// Stands in for a kernel with the driver: talks as it does, and hands out one block after the
// other. What it does wrong is its file's name: dies, dies-later (at the sixth request), hangs,
// never-ready, twice, free-fails. One that is picky takes no `commit=` and no mb_group_prealloc,
// which is 512 already. One that is confused notes locks as no kernel does. One whose name begins
// with "far" decides otherwise than the others, and takes 350 ns, or 900 when it is far-slow; what
// a noisy one takes is as its process is.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "guest/protocol.h"

extern "C" const char e4r_identity[];
const char e4r_identity[] =
    E4R_IDENTITY " protocol=2 criteria=4 release=6.1.0-fake commit=0123456789abcdef dirty=1\n";
static_assert(E4R_PROTOCOL == 2);

namespace {

constexpr const char* kStats =
    "mballoc:\n\treqs: 2\n\tsuccess: 2\n\tgroups_scanned: 1\n\textents_scanned: 1\n";

std::uint64_t next_block = 5000;

std::uint64_t nanoseconds(const std::string& name) {
  if (name.starts_with("noisy"))
    return 300 + 100 * ((static_cast<std::uint64_t>(getpid()) * 7919 + next_block) % 13);
  if (name.starts_with("far")) return name == "far-slow" ? 900 : 350;
  return 100;
}

void note_locks(e4r_locks& to, bool confused) {
  const char* names[] = {"group", "&sbi->s_mb_lists[(order)]", "&ac->ac_lg->lg_mutex"};
  to.names = 0;
  for (const char* name : names) std::strcpy(to.name[to.names++], name);
  to.cycles_per_us = 2000 * 1024;
  to.cycles = 2000;
  const e4r_lock_event events[] = {{0xffff888012345678ULL, 20, 2, E4R_LOCK_SLEEP},
                                   {E4R_LOCK_OF_GROUP | 3, 200, 0, E4R_LOCK_TRY},
                                   {0xffff888087654321ULL, 220, 1, E4R_LOCK_SHARE},
                                   {0xffff888087654321ULL, 240, 1, E4R_LOCK_LET_GO},
                                   {E4R_LOCK_OF_GROUP | 3, 400, 0, E4R_LOCK_LET_GO},
                                   {0xffff888012345678ULL, 1900, 2, E4R_LOCK_LET_GO}};
  to.events = 0;
  for (const e4r_lock_event& event : events) to.event[to.events++] = event;
  if (!confused) return;
  to.names = E4R_LOCK_NAMES + 7;
  std::memset(to.name, 'x', sizeof(to.name));
  to.cycles_per_us = 0;
  to.cycles = ~0ULL;
  for (std::uint32_t i = 0; i < E4R_LOCK_EVENTS; ++i)
    to.event[i] = {i % 5, i * 977, static_cast<__u16>(i % 70), static_cast<__u16>(i % 9)};
  to.events = E4R_LOCK_EVENTS + 9;
}

std::int32_t serve(const std::string& name, const e4r_op& op, e4r_shared& shared,
                   e4r_answer& answer) {
  switch (op.kind) {
    case E4R_ALLOCATE:
      if (name == "dies" || (name == "dies-later" && next_block == 5005)) {
        std::fputs("EXT4-fs error (device ubda): lost its way\nlast words\n", stderr);
        std::_Exit(1);
      }
      if (name == "hangs") pause();
      answer.block = next_block;
      answer.len = op.len;
      answer.what = E4R_CLOSED;
      answer.orig.len = answer.goal.len = answer.result.len = op.len;
      answer.ns = nanoseconds(name);
      answer.found = 1;
      answer.considered = 3;
      if (op.locks != 0) note_locks(shared.locks, name == "confused");
      if (name != "twice") next_block += op.len;
      return 0;
    case E4R_FREE:
      return name == "free-fails" ? -EIO : 0;
    case E4R_MOUNT:
      if (name == "picky" && std::strstr(shared.text, "commit=") != nullptr) return -EINVAL;
      return std::strstr(shared.text, "no_such") != nullptr ? -EINVAL : 0;
    case E4R_WRITE_FILE:
      if (name == "picky" && std::strstr(shared.text, "mb_group_prealloc") != nullptr)
        return -EINVAL;
      return std::strstr(shared.text, "no_such") != nullptr ? -ENOENT : 0;
    case E4R_READ_FILE:
      if (std::strstr(shared.text, "no_such") != nullptr) return -ENOENT;
      if (std::strstr(shared.text, "mb_group_prealloc") != nullptr)
        std::strcpy(shared.text, "512\n");
      else if (std::strstr(shared.text, "pid") != nullptr)
        std::snprintf(shared.text, sizeof(shared.text), "%d", getpid());
      else
        std::strcpy(shared.text, kStats);
      answer.len = static_cast<__u32>(std::strlen(shared.text));
      return 0;
    default:
      return 0;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = argv[0];
  name = name.substr(name.rfind('/') + 1);
  std::string file;
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "e4replay=", 9) == 0) file = argv[i] + 9;
  if (name == "never-ready") pause();
  if (name.starts_with("far")) next_block = 9000;
  const int fd = open(file.c_str(), O_RDWR);
  void* at = mmap(nullptr, sizeof(e4r_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return std::puts(e4r_identity);
  auto& shared = *static_cast<e4r_shared*>(at);
  const pid_t parent = getppid();
  const auto value = [](__u32& v) { return std::atomic_ref<__u32>(v); };
  shared.criteria = 4;
  value(shared.ready).store(1);
  for (__u32 done = 0;;) {
    while (value(shared.asked.value).load() == done) {
      if (getppid() != parent) return 0;
      usleep(10);
    }
    e4r_answer& answer = shared.answers[done % E4R_SLOTS];
    answer = {};
    answer.error = serve(name, shared.ops[done % E4R_SLOTS], shared, answer);
    value(shared.answered.value).store(++done);
  }
}
