// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/guest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "util/parallel.h"
#include "util/text.h"

namespace e4r::guest {
namespace {

// Words that mark lines about a failure, in descending order of importance.
constexpr std::array<std::string_view, 7> kTelling = {"EXT4-fs error",
                                                      "kernel BUG",
                                                      "BUG: ",
                                                      "WARNING: ",
                                                      "Kernel mode fault",
                                                      "Kernel panic",
                                                      "this operation takes long"};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Returns the function that a line of a backtrace names, as in " [<60012345>] ?
// ext4_mb_new_blocks+0x1a/0x20". Empty if the line names no function or may name the wrong one: the
// unwinder marks its guesses with "?", and the return address of a call that never returns can be
// the start of the next function.
std::string_view call_of(std::string_view line) {
  const std::size_t at = line.find(">] ");
  if (at == line.npos) return {};
  const std::string_view name = line.substr(at + 3);
  if (name.starts_with("? ") || name.find("+0x0/") != name.npos) return {};
  return name.substr(0, name.find('+'));
}

// Returns the calls in the first backtrace at or after a line, down to the driver's entry. Omits
// the functions that only report the failure.
std::vector<std::string> calls_after(const std::vector<std::string_view>& lines, std::size_t at) {
  constexpr std::size_t kMost = 12;
  constexpr std::array<std::string_view, 11> kReportFunctions = {"show_stack",
                                                                 "dump_stack",
                                                                 "__warn",
                                                                 "warn_slowpath",
                                                                 "panic",
                                                                 "vpanic",
                                                                 "dump_stack_lvl",
                                                                 "_printk",
                                                                 "ext4_handle_error",
                                                                 "__ext4_error",
                                                                 "__ext4_grp_locked_error"};
  std::vector<std::string> out;
  while (at < lines.size() && lines[at].find("Call Trace") == std::string_view::npos) ++at;
  for (++at; at < lines.size() && out.size() < kMost; ++at) {
    const bool in_trace = lines[at].find("[<") != std::string_view::npos;
    if (!in_trace) break;
    const std::string_view call = call_of(lines[at]);
    if (call.empty()) continue;
    if (call.starts_with("e4r_")) break;
    if (out.empty() && std::ranges::any_of(kReportFunctions, [call](std::string_view function) {
          return call.starts_with(function);
        }))
      continue;
    out.push_back(escape(call));
  }
  return out;
}

struct Kept {
  std::mutex mutex;
  bool wanted = false;
  std::string text;
};
Kept& kept() {
  static Kept the;
  return the;
}

}  // namespace

Trouble find_trouble(std::string_view console) {
  constexpr std::size_t kMost = 400;  // bytes per line
  const std::vector<std::string_view> lines = lines_of(console);
  if (lines.empty()) return {"it printed nothing", {}};
  const auto has = [](std::string_view line, std::string_view words) {
    return line.find(words) != line.npos;
  };
  for (const std::string_view telling : kTelling) {
    const auto at =
        std::ranges::find_if(lines, [&](std::string_view line) { return has(line, telling); });
    if (at == lines.end()) continue;
    return {escape(at->substr(0, kMost)),
            calls_after(lines, static_cast<std::size_t>(at - lines.begin()))};
  }
  // Fall back to the reason of a failed mount, or to the first line of a program that is not a
  // kernel.
  std::string_view said = lines.front();
  for (const std::string_view line : lines)
    if ((has(line, "EXT4-fs") || has(line, "ext4: ")) && !has(line, "mounted filesystem"))
      said = line;
  return {escape(said.substr(0, kMost)), {}};
}

std::string trouble_text(std::string_view console) {
  const Trouble trouble = find_trouble(with_names_of_tree(console));
  if (trouble.calls.empty()) return trouble.what;
  return fmt::format("{}; called by {}", trouble.what, fmt::join(trouble.calls, " < "));
}

std::string with_names_of_tree(std::string_view console) {
  constexpr std::array<std::array<std::string_view, 2>, 2> kNames = {
      {{"mballoc-tree.c", "mballoc.c"}, {"ext4-tree.h", "ext4.h"}}};
  std::string out(console);
  for (const auto& [ours, theirs] : kNames)
    for (std::size_t at = out.find(ours); at != out.npos; at = out.find(ours, at + theirs.size()))
      out.replace(at, ours.size(), theirs);
  return out;
}

void keep_consoles() {
  const std::lock_guard lock(kept().mutex);
  kept().wanted = true;
}

void note_console(std::string_view kernel, std::string_view console) {
  const std::lock_guard lock(kept().mutex);
  if (!kept().wanted) return;
  kept().text += fmt::format("==> {} <==\n{}", escape(kernel), with_names_of_tree(console));
  if (!kept().text.ends_with('\n')) kept().text += '\n';
}

std::string kept_consoles() {
  const std::lock_guard lock(kept().mutex);
  return kept().text;
}

namespace {

using Clock = std::chrono::steady_clock;

// Tells the processor that this thread only waits. Guests run only on x86-64; elsewhere this only
// has to compile.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Runs in a separate process, in the kernel's process group. Ends the group when `parent` ends for
// any reason. The kernel cannot do this itself: its host thread that waits for disk requests
// outlives its first process.
[[noreturn]] void guard(pid_t parent, pid_t group) {
  ::setpgid(0, group);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::closefrom(0);
  // The signal is also sent if only the thread that forked has ended.
  ::prctl(PR_SET_PDEATHSIG, SIGHUP);
  while (::getppid() == parent) ::sigwaitinfo(&all, nullptr);
  ::kill(-group, SIGKILL);
  ::_exit(0);
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::atomic_ref<std::uint32_t> atomic(std::uint32_t& value) {
  return std::atomic_ref<std::uint32_t>(value);
}

void futex(std::uint32_t& word, int operation, std::uint32_t value, const timespec* most) {
  ::syscall(SYS_futex, &word, operation, value, most, nullptr, 0);
}

std::string_view operation_name(std::uint32_t kind) {
  constexpr std::string_view kNames[] = {"nothing",
                                         "mount",
                                         "an allocation",
                                         "a free",
                                         "a discard",
                                         "a preallocation",
                                         "an extent freed before the recording",
                                         "placing a group",
                                         "an earlier state of clusters",
                                         "loading groups",
                                         "reading groups",
                                         "reclaiming a group",
                                         "an inode",
                                         "an inode",
                                         "a commit",
                                         "a commit",
                                         "a commit",
                                         "reading a file",
                                         "writing a file",
                                         "power off"};
  static_assert(std::size(kNames) == E4R_POWER_OFF + 1);
  return kind < std::size(kNames) ? kNames[kind] : "an operation";
}

constexpr std::string_view kFailed = ": the kernel failed: ";

}  // namespace

bool is_kernels_fault(const Error& error) {
  return error.message.find(kFailed) != std::string::npos;
}

Error kernels_fault(std::string_view kernel, std::string_view what) {
  return error("{}{}{}", kernel, kFailed, what);
}

Result<std::unique_ptr<Guest>> Guest::start(const Boot& boot) {
  std::unique_ptr<Guest> guest(new Guest(boot));
  E4R_CHECK(guest->make_files());
  E4R_CHECK(guest->spawn());
  E4R_CHECK(guest->wait_for_driver());
  return guest;
}

Guest::~Guest() {
  end();
  if (log_.is_open()) note_console(boot_.kernel, log());
  if (shared_ != nullptr) ::munmap(shared_, sizeof(e4r_shared));
}

Status Guest::make_files() {
  memory_ = memory_file("e4replay guest", sizeof(e4r_shared));
  // Seal the size: if the kernel shrank the file, reading the mapping would crash.
  if (memory_.is_open() &&
      ::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return error("cannot seal a file in memory: {}", errno_text(errno));
  log_ = memory_file("e4replay guest log", 0);
  if (!memory_.is_open() || !log_.is_open())
    return error("cannot make a file in memory: {}", errno_text(errno));
  void* at =
      ::mmap(nullptr, sizeof(e4r_shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (at == MAP_FAILED) return error("cannot map memory: {}", errno_text(errno));
  shared_ = static_cast<e4r_shared*>(at);
  shared_->magic = E4R_MAGIC;
  shared_->protocol = E4R_PROTOCOL;
  return {};
}

// Runs the kernel in a separate process group, so that end_group() ends its children, too.
Status Guest::spawn() {
  const auto file = [](std::string_view option, int fd) {
    return fmt::format("{}=/proc/self/fd/{}", option, fd);
  };
  std::vector<std::string> options = {fmt::format("mem={}M", boot_.memory_mib),
                                      file("ubd0", boot_.disk),
                                      file("e4replay", memory_.get()),
                                      "con=null",
                                      "ssl=null",
                                      "stderr=1",
                                      "oops=panic",
                                      "lpj=4000000"};  // skips the calibration of the delay loop
  if (boot_.journal >= 0) options.push_back(file("ubd1", boot_.journal));
  std::vector<const char*> words = {boot_.kernel.c_str()};
  for (const std::string& option : options) words.push_back(option.c_str());
  words.push_back(nullptr);
  if (::access(boot_.kernel.c_str(), X_OK) != 0)
    return error("{}: cannot be run: {}: make it executable with chmod +x", boot_.kernel,
                 errno_text(errno));
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) return error("cannot start {}: {}", boot_.kernel, errno_text(errno));
  if (pid_ == 0) {
    ::setpgid(0, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);  // the calling thread may have blocked signals
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, 0);
    ::dup2(log_.get(), 1);
    ::dup2(log_.get(), 2);
    for (const int fd : {boot_.disk, boot_.journal, memory_.get()})
      if (fd >= 0) ::fcntl(fd, F_SETFD, 0);  // keep open across exec
    ::execv(words.front(), const_cast<char**>(words.data()));
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);  // done in both processes, since either may run first
  guard_ = ::fork();
  if (guard_ == 0) guard(parent, pid_);
  if (guard_ > 0) return {};
  Error out = error("cannot start a process for {}: {}", boot_.kernel, errno_text(errno));
  end();
  return out;
}

bool Guest::has_ended() {
  if (pid_ < 0) return true;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  end_group();
  return true;
}

// Whether the kernel has printed so much that its log could fill the memory.
bool Guest::prints_too_much() const {
  constexpr off_t kMost = 64 << 20;
  return ::lseek(log_.get(), 0, SEEK_END) > kMost;
}

void Guest::end() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  reap(pid_);
  end_group();
}

// Ends all processes of the kernel, and the guard. The guard is not in the kernel's group if the
// kernel ended before the guard could join it.
void Guest::end_group() {
  ::kill(-pid_, SIGKILL);
  if (guard_ > 0) {
    ::kill(guard_, SIGKILL);
    reap(guard_);
  }
  pid_ = guard_ = -1;
}

// Returns the end of the kernel's output.
std::string Guest::log() const {
  constexpr off_t kMost = 1 << 20;
  const off_t size = ::lseek(log_.get(), 0, SEEK_END);
  std::string out(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kMost)), '\0');
  const ssize_t got = ::pread(log_.get(), out.data(), out.size(), std::max<off_t>(size - kMost, 0));
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return out;
}

std::string Guest::last_words() const {
  return trouble_text(log());
}

// Reads the number of answers, and checks it because the kernel can set it to any value.
Result<std::uint32_t> Guest::look() {
  const std::uint32_t now = atomic(shared_->answered.value).load(std::memory_order_acquire);
  if (now - seen_ > asked_ - seen_)
    return kernels_fault(boot_.kernel, "it has answered more operations than it was given");
  seen_ = now;
  return now;
}

// Waits briefly: spins first, then sleeps until the driver answers.
Status Guest::pause(std::uint32_t& turns, std::uint32_t seen, Clock::time_point began) {
  constexpr timespec kMost = {0, 20'000'000};
  if (turns < E4R_SPINS) {
    ++turns;
    relax();
    return {};
  }
  e4r_count& answered = shared_->answered;
  atomic(answered.waits).store(1);
  if (atomic(answered.value).load() == seen) futex(answered.value, FUTEX_WAIT, seen, &kMost);
  atomic(answered.waits).store(0);
  if (atomic(answered.value).load() != seen) return {};
  const std::string_view asked = operation_name(waiting_[seen % E4R_SLOTS].kind);
  if (has_ended())
    return kernels_fault(boot_.kernel, fmt::format("it ended at {}: {}", asked, last_words()));
  if (prints_too_much()) {
    end();
    return kernels_fault(
        boot_.kernel,
        fmt::format("it printed without end at {}, and was killed: {}", asked, last_words()));
  }
  if (Clock::now() - began > boot_.patience) {
    end();
    return kernels_fault(boot_.kernel,
                         fmt::format("it has not answered for {} s at {}, and was killed: {}",
                                     boot_.patience.count(), asked, last_words()));
  }
  return {};
}

Status Guest::wait_for_driver() {
  const auto began = Clock::now();
  while (atomic(shared_->ready).load() == 0) {
    if (has_ended())
      return error(
          "{}: the kernel ended before its driver had begun: was it made by `e4replay kernel "
          "build`? It says: {}",
          boot_.kernel, last_words());
    if (prints_too_much() || Clock::now() - began > boot_.patience) {
      end();
      return error(
          "{}: contains no e4replay driver, or hangs while it boots: make it with `e4replay kernel "
          "build`",
          boot_.kernel);
    }
    if (stop_asked()) return error("stopped");
    ::usleep(1000);
  }
  return {};
}

Status Guest::wait_for(std::uint32_t answered) {
  // While many answers are pending, sleep for fixed times instead of waking for each answer.
  constexpr std::int32_t kMany = 32;
  constexpr timespec kNap = {0, 100'000};
  constexpr std::uint32_t kMostNaps = 1000;  // consecutive naps without an answer
  const auto began = Clock::now();
  std::uint32_t turns = 0, naps = 0, last = 0;
  for (;;) {
    E4R_TRY(const std::uint32_t seen, look());
    const auto left = static_cast<std::int32_t>(answered - seen);
    if (left <= 0) return {};
    naps = seen == last ? naps + 1 : 0;
    last = seen;
    if (left > kMany && naps < kMostNaps) {
      ::nanosleep(&kNap, nullptr);
      continue;
    }
    if (turns >= E4R_SPINS && stop_asked()) return error("stopped");
    E4R_CHECK(pause(turns, seen, began));
  }
}

// Describes what is wrong with the outcome of an operation; empty if it is acceptable.
std::string Guest::wrong_with(const e4r_op& op, const e4r_answer& answer) {
  constexpr std::int32_t kLastErrno = 4095;
  const std::string_view asked = operation_name(op.kind);
  if (answer.error > 0 || answer.error < -kLastErrno)
    return fmt::format("its answer to {} has an impossible error number", asked);
  if (op.kind == E4R_MOUNT) errors_ = answer.errors;
  if (answer.errors != errors_)
    return fmt::format("ext4 met an error at {}: {}", asked, last_words());
  return {};
}

// Checks the answers for which no caller has waited.
Status Guest::check_posted() {
  E4R_TRY(const std::uint32_t done, look());
  for (; checked_ != done; ++checked_) {
    const e4r_answer answer = shared_->answers[checked_ % E4R_SLOTS];
    const e4r_op& op = waiting_[checked_ % E4R_SLOTS];
    if (std::string wrong = wrong_with(op, answer); !wrong.empty()) {
      end();
      return kernels_fault(boot_.kernel, wrong);
    }
    if (asked_for_ && checked_ + 1 == asked_) {
      answer_ = answer;
      continue;
    }
    if (listener_) listener_(op, answer);
    const bool full = op.kind == E4R_ALLOCATE && answer.error == -ENOSPC;
    if (answer.error == 0 || full) continue;
    return kernels_fault(boot_.kernel, fmt::format("{} ended with: {}", operation_name(op.kind),
                                                   errno_text(-answer.error)));
  }
  return {};
}

Status Guest::post(const e4r_op& op) {
  if (pid_ < 0) return kernels_fault(boot_.kernel, "it ended before it was asked: " + last_words());
  if (asked_ - checked_ >= E4R_SLOTS) {
    const Status waited = wait_for(asked_ - E4R_SLOTS / 2);
    E4R_CHECK(check_posted());
    E4R_CHECK(waited);
  }
  shared_->ops[asked_ % E4R_SLOTS] = op;
  waiting_[asked_ % E4R_SLOTS] = op;
  ++asked_;
  e4r_count& asked = shared_->asked;
  atomic(asked.value).store(asked_);
  if (atomic(asked.waits).load() != 0) futex(asked.value, FUTEX_WAKE, 1, nullptr);
  return {};
}

Status Guest::settle() {
  Status waited = wait_for(asked_);
  E4R_CHECK(check_posted());
  return waited;
}

Result<const e4r_answer*> Guest::ask(const e4r_op& op) {
  E4R_CHECK(post(op));
  const Status waited = wait_for(asked_);
  asked_for_ = true;
  const Status checked = check_posted();
  asked_for_ = false;
  E4R_CHECK(checked);
  E4R_CHECK(waited);
  return &answer_;
}

Status Guest::tell(const e4r_op& op, std::string_view text, std::string_view message) {
  if (text.size() >= E4R_TEXT_BYTES) return error("{}: text too long", message);
  E4R_CHECK(wait_for(asked_));  // the buffer holds one text at a time
  std::memcpy(shared_->text, text.data(), text.size());
  shared_->text[text.size()] = '\0';
  E4R_TRY(const e4r_answer* answer, ask(op));
  if (answer->error != 0) return error("{}: {}", message, errno_text(-answer->error));
  return {};
}

Result<std::string> Guest::read_file(const std::string& path) {
  e4r_op op = {};
  op.kind = E4R_READ_FILE;
  E4R_CHECK(tell(op, path, fmt::format("{}: {}", boot_.kernel, path)));
  return std::string(shared_->text, std::min(answer_.len, E4R_TEXT_BYTES));
}

Status Guest::write_file(const std::string& path, std::string_view value) {
  e4r_op op = {};
  op.kind = E4R_WRITE_FILE;
  std::string text = path;
  text += '\0';
  text += value;
  return tell(op, text, fmt::format("{}: {} to {}", boot_.kernel, value, path));
}

}  // namespace e4r::guest
