// SPDX-License-Identifier: GPL-2.0-or-later
// A program that takes the place of a kernel with the driver. It uses the same protocol, and
// allocates one block after the other. The name of its file selects what it does wrong:
// - dies, dies-later (at the sixth request), hangs, never-ready, twice (allocates blocks twice),
//   free-fails.
// - picky refuses `commit=`, and writes to mb_group_prealloc, whose value is already 512.
// - confused reports lock operations that are impossible.
// - Kernels whose names begin with "far" decide differently from the others, and take 350 ns for a
//   decision; far-slow takes 900 ns. If the name begins with "noisy", the time depends on the
//   process. far-dies-again ends when it is run for the second time.
// - warns prints a warning, and meets-errors reports an error, at the sixth request.
// - Kernels named in kAnswers give impossible answers. Others shorten the shared file, count
//   answers to requests that were not made, print without end, or stop reading requests (deaf).
// - random-N gives random answers with seed N. scribbles-N writes random data into the memory that
//   it shares with its caller.
// - full has no space. says-sizes prints, for each request, the size of the inode and the number of
//   its writers. says-races prints the facts of each request about concurrent operations, and each
//   partial commit. It serves all requests as streams. says-planted prints the parts of the
//   recorded kernel's memory that it receives. cannot-take has no space for extents that were
//   freed.
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
    E4R_IDENTITY " protocol=7 criteria=4 release=6.1.0-fake commit=0123456789abcdef dirty=1\n";
static_assert(E4R_PROTOCOL == 7);

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

void print_races(const e4r_op& op) {
  std::fprintf(stderr, "inode %llu: locked", static_cast<unsigned long long>(op.ino));
  for (std::uint32_t i = 0; i < op.locked_count; ++i)
    std::fprintf(stderr, " %u at %x", op.locked[i], op.visits[i]);
  for (std::uint32_t lock = 0; lock < E4R_GROUP_LOCKS; ++lock)
    if ((op.held[lock / 64] >> (lock % 64) & 1) != 0) std::fprintf(stderr, " held %u", lock);
  std::fputs(op.loses_best != 0 ? ", loses its best" : "", stderr);
  if (op.other_stream_goal != 0)
    std::fprintf(stderr, ", stream goal %u/%u", op.stream_group, op.stream_start);
  std::fputs("\n", stderr);
}

void print_planted(const e4r_op& op) {
  const auto goal = static_cast<unsigned long long>(op.goal);
  if (op.kind == E4R_TAKE) std::fprintf(stderr, "take %llu+%u\n", goal, op.len);
  if (op.kind == E4R_FREE) std::fprintf(stderr, "free %llu+%u\n", goal, op.len);
  if (op.kind == E4R_PLACE_GROUP)
    std::fprintf(stderr, "group %llu: flags %u, %u\n", goal, op.flags, op.len);
  if (op.kind != E4R_PLANT) return;
  const bool of_cpu = (op.flags & E4R_PLANT_OF_CPU) != 0;
  std::fprintf(stderr, "%s %llu: %llu+%u at %u, after %u\n", of_cpu ? "cpu" : "inode",
               of_cpu ? op.cpu : static_cast<unsigned long long>(op.ino), goal, op.len, op.logical,
               op.before);
}

// The output of a kernel that prints a warning. The driver's function is in the middle of the
// backtrace.
constexpr const char* kWarning =
    "------------[ cut here ]------------\n"
    "WARNING: CPU: 0 PID: 1 at fs/ext4/mballoc-tree.c:5571 ext4_mb_new_blocks+0x1a/0x20\n"
    "Call Trace:\n"
    " [<60012345>] ? _printk+0x0/0x94\n"
    " [<60012346>] show_stack+0x10/0x20\n"
    " [<60012347>] __warn+0xb0/0xd0\n"
    " [<60012347>] ext4_free_blocks.cold+0x0/0x40\n"
    " [<60012348>] ext4_mb_regular_allocator+0x10/0x20\n"
    " [<60012349>] ext4_mb_new_blocks+0x1a/0x20\n"
    " [<6001234a>] e4r_allocate+0x99/0x100\n"
    " [<6001234b>] kernel_init+0x99/0x100\n"
    "Kernel panic - not syncing: kernel: panic_on_warn set ...\n";

// An impossible answer, with the name of the fake kernel that gives it.
struct Odd {
  const char* name;
  void (*make)(e4r_answer& answer);
};
constexpr Odd kAnswers[] = {
    {"odd-error", [](e4r_answer& a) { a.error = INT32_MIN; }},
    {"odd-errno", [](e4r_answer& a) { a.error = 17; }},
    {"odd-len", [](e4r_answer& a) { a.len = ~0U; }},
    {"odd-block", [](e4r_answer& a) { a.block = ~0ULL - 3; }},
    {"odd-end", [](e4r_answer& a) { a.block = 32766; }},
    {"odd-group", [](e4r_answer& a) { a.result.group = 1U << 31; }},
    {"odd-goal", [](e4r_answer& a) { a.goal.start = ~0U - 1; }},
    {"odd-orig", [](e4r_answer& a) { a.orig.len = ~0U; }},
    {"odd-buddy", [](e4r_answer& a) { a.buddy = 77; }},
    {"long-goal", [](e4r_answer& a) { a.goal.len = 100000; }},
    {"stream-goal", [](e4r_answer& a) { a.goal.start = ~0U; }},
    {"odd-criterion", [](e4r_answer& a) { a.criterion = ~0U; }},
};

// Returns the seed in a name like "random-7", or 0 if the name does not begin with `kind`.
std::uint32_t seed_of(const std::string& name, const std::string& kind) {
  return name.starts_with(kind) ? static_cast<std::uint32_t>(std::atoi(&name[kind.size()])) : 0;
}

std::uint32_t drawn(std::uint32_t& state) {
  state = state * 1664525 + 1013904223;
  return state >> 8;
}

// Fills an answer with random bytes. Makes some of its fields plausible.
std::int32_t random_answer(std::uint32_t& state, e4r_answer& answer) {
  for (std::size_t i = 0; i < sizeof(answer); ++i)
    reinterpret_cast<unsigned char*>(&answer)[i] = static_cast<unsigned char>(drawn(state));
  if (drawn(state) % 2 == 0) answer.what &= 3;
  if (drawn(state) % 2 == 0) answer.len = drawn(state) % 100000;
  if (drawn(state) % 4 != 0) answer.errors = 0;
  return drawn(state) % 4 == 0 ? static_cast<std::int32_t>(drawn(state)) : 0;
}

void scribble(std::uint32_t& state, e4r_shared& shared) {
  constexpr std::size_t kHead = 16;  // the fields that both sides read first
  auto* const bytes = reinterpret_cast<char*>(&shared);
  for (int i = 0; i < 1000; ++i) {
    const std::size_t at =
        kHead + (std::size_t{drawn(state)} * 4) % (sizeof(e4r_shared) - kHead - 4);
    const std::uint32_t value = drawn(state) << 8 | drawn(state);
    std::memcpy(bytes + at, &value, sizeof(value));
  }
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
      if (name == "deaf") {
        (void)fork();  // simulates a process of the kernel that outlives its first process
        for (;;) usleep(100000);
      }
      if (name == "warns" && next_block >= 5005) {
        std::fputs(kWarning, stderr);
        std::_Exit(1);
      }
      if (name == "meets-errors" && next_block >= 5005) answer.errors = 1;
      if (name == "floods")
        for (;;) std::fputs("garbage \x1b[2J garbage garbage garbage garbage garbage\n", stderr);
      if (name == "says-sizes")
        std::fprintf(stderr, "inode %llu: %llu bytes, %u writers\n",
                     static_cast<unsigned long long>(op.ino),
                     static_cast<unsigned long long>(op.i_size), op.writers);
      if (name == "says-races") {
        print_races(op);
        answer.refused = op.locked_count;
        answer.flags = 0x800;  // a stream
        answer.result.start = static_cast<__u32>(next_block);
      }
      answer.block = next_block;
      answer.len = op.len;
      answer.what = E4R_CLOSED;
      answer.orig.len = answer.goal.len = answer.result.len = op.len;
      answer.ns = nanoseconds(name);
      answer.found = 1;
      answer.considered = 3;
      if (op.locks != 0) note_locks(shared.locks, name == "confused");
      if (name.starts_with("full")) return -ENOSPC;
      if (name != "twice") next_block += op.len;
      for (const Odd& odd : kAnswers)
        if (name == odd.name) odd.make(answer);
      return answer.error;
    case E4R_TAKE:
    case E4R_PLANT:
    case E4R_PLACE_GROUP:
      if (name == "says-planted") print_planted(op);
      return name == "cannot-take" && op.kind == E4R_TAKE ? -ENOSPC : 0;
    case E4R_FREE:
      if (name == "says-planted") print_planted(op);
      return name == "free-fails" ? -EIO : 0;
    case E4R_PRETEND:
      if (name == "says-races")
        std::fprintf(stderr, "pretend block %llu+%u %s\n", static_cast<unsigned long long>(op.goal),
                     op.len, (op.flags & E4R_PRETEND_FREE) != 0 ? "free" : "in use");
      return 0;
    case E4R_COMMIT_UNTIL:
      if (name == "says-races")
        std::fprintf(stderr, "commit until group %llu, cluster %u\n",
                     static_cast<unsigned long long>(op.goal), op.len);
      return 0;
    case E4R_MOUNT:
      if (name == "picky" && std::strstr(shared.text, "commit=") != nullptr) return -EINVAL;
      return std::strstr(shared.text, "no_such") != nullptr ? -EINVAL : 0;
    case E4R_WRITE_FILE:
      if (name == "picky" && std::strstr(shared.text, "mb_group_prealloc") != nullptr)
        return -EINVAL;
      return std::strstr(shared.text, "no_such") != nullptr ? -ENOENT : 0;
    case E4R_READ_FILE:
      if (std::strstr(shared.text, "no_such") != nullptr) return -ENOENT;
      if (name == "no-stats" && std::strstr(shared.text, "mb_stats") != nullptr) return -ENOENT;
      if (std::strstr(shared.text, "mb_group_prealloc") != nullptr)
        std::strcpy(shared.text, "512\n");
      else if (std::strstr(shared.text, "pid") != nullptr)
        std::snprintf(shared.text, sizeof(shared.text), "%d", getpid());
      else
        std::strcpy(shared.text, kStats);
      answer.len = name == "odd-text" ? ~0U : static_cast<__u32>(std::strlen(shared.text));
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
  if (name == "far-dies-again") {
    const std::string mark = std::string(argv[0]) + ".ran";
    if (access(mark.c_str(), F_OK) == 0) name = "dies";
    close(open(mark.c_str(), O_CREAT | O_WRONLY, 0600));
  }
  const int fd = open(file.c_str(), O_RDWR);
  void* at = mmap(nullptr, sizeof(e4r_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return std::puts(e4r_identity);
  auto& shared = *static_cast<e4r_shared*>(at);
  const pid_t parent = getppid();
  const auto value = [](__u32& v) { return std::atomic_ref<__u32>(v); };
  shared.criteria = 4;
  value(shared.ready).store(1);
  std::uint32_t random = seed_of(name, "random-"), scribbles = seed_of(name, "scribbles-");
  for (__u32 done = 0;;) {
    while (value(shared.asked.value).load() == done) {
      if (getppid() != parent) return 0;
      usleep(10);
    }
    e4r_answer& answer = shared.answers[done % E4R_SLOTS];
    answer = {};
    answer.error = serve(name, shared.ops[done % E4R_SLOTS], shared, answer);
    const bool asked = shared.ops[done % E4R_SLOTS].kind == E4R_ALLOCATE;
    // The caller has mapped the same file, so shortening it must be impossible.
    if (asked && name == "shrinks" && ftruncate(fd, 0) == 0) std::fputs("it is shorter\n", stderr);
    if (asked && random != 0) answer.error = random_answer(random, answer);
    if (asked && scribbles != 0) scribble(scribbles, shared);
    if (asked && name == "runs-ahead") done += 7;
    if (asked && name == "runs-back") done -= 3;
    value(shared.answered.value).store(++done);
  }
}
