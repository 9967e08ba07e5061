// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guest/protocol.h"
#include "util/fd.h"
#include "util/status.h"

// The console output of guest kernels.
namespace e4r::guest {

// The reason why a kernel ended or hangs, from its console.
struct Trouble {
  std::string what;                // the most informative line: an error, a warning, a panic
  std::vector<std::string> calls;  // the backtrace after that line, innermost call first
};
[[nodiscard]] Trouble find_trouble(std::string_view console);
// Formats the trouble in the console: "WARNING: ... at fs/ext4/mballoc.c:5571
// ext4_mb_new_blocks+0x1a/0x20; called by a < b < c".
[[nodiscard]] std::string trouble_text(std::string_view console);

// Replaces the file names of the overlay with the tree's own (mballoc-tree.c with mballoc.c).
[[nodiscard]] std::string with_names_of_tree(std::string_view console);

// From now on, keeps the consoles of all kernels that this program runs, even after the kernels end
// (`--kernel-log FILE`). Thread-safe.
void keep_consoles();
// Adds a console to the kept ones. Does nothing without keep_consoles().
void note_console(std::string_view kernel, std::string_view console);
// Returns all kept consoles, each after a line that names its kernel.
[[nodiscard]] std::string kept_consoles();

// A User Mode Linux kernel with e4replay's driver (src/guest/driver), run as a process.

// The st_rdev of the guest's ubd disk `number`.
[[nodiscard]] constexpr std::uint32_t disk_device(std::uint32_t number) {
  constexpr std::uint32_t kMajor = 98, kPartitions = 16;
  return kMajor << 8 | number * kPartitions;
}

struct Boot {
  std::string kernel;                 // path of a kernel made by `e4replay kernel build`
  int disk = -1;                      // file descriptor of the file system's image
  int journal = -1;                   // file descriptor of an external journal; -1: none
  std::uint32_t memory_mib = 512;     // the guest's memory
  std::chrono::seconds patience{60};  // the kernel counts as hung if an answer takes longer
};

// Whether an Error says that the kernel failed or hung because of its own code and not because of
// its input.
[[nodiscard]] bool is_kernels_fault(const Error& error);
[[nodiscard]] Error kernels_fault(std::string_view kernel, std::string_view what);

// An operation of that kind, with all other fields 0 except the inode.
[[nodiscard]] inline e4r_op operation(e4r_op_kind kind, std::uint64_t ino = 0) {
  e4r_op op = {};
  op.kind = kind;
  op.ino = ino;
  return op;
}

// One guest. Performs operations in the order in which they are posted. Not thread-safe. The
// destructor ends the kernel.
class Guest {
 public:
  // Starts the kernel and waits until its driver responds. The Error says what is wrong with the
  // file, or what a kernel that does not boot has printed.
  [[nodiscard]] static Result<std::unique_ptr<Guest>> start(const Boot& boot);
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  ~Guest();

  // Queues an operation. The Error may be about this or an earlier operation, or a kernel that
  // ended or hangs. After an Error, no operation is possible.
  [[nodiscard]] Status post(const e4r_op& op);
  // Waits until all posted operations are done. The Error is an error of post().
  [[nodiscard]] Status settle();
  // Receives the outcome of each operation, in order. Called only while a caller waits.
  using Listener = std::function<void(const e4r_op&, const e4r_answer&)>;
  void listen(Listener listener) { listener_ = std::move(listener); }
  // Posts an operation and waits for its answer, which is valid until the next operation. The
  // caller must check the answer's `error`: 0 or a negative errno.
  [[nodiscard]] Result<const e4r_answer*> ask(const e4r_op& op);

  // Performs an operation that takes a text (E4R_MOUNT, E4R_WRITE_FILE). An answer's error becomes
  // an Error "MESSAGE: TEXT OF ERRNO".
  [[nodiscard]] Status tell(const e4r_op& op, std::string_view text, std::string_view message);
  // Reads or writes a file in the guest's proc or sysfs.
  [[nodiscard]] Result<std::string> read_file(const std::string& path);
  [[nodiscard]] Status write_file(const std::string& path, std::string_view value);

  [[nodiscard]] const std::string& kernel() const { return boot_.kernel; }
  [[nodiscard]] const e4r_shared& shared() const { return *shared_; }
  // Returns the part of the kernel's output that says most about its failure.
  [[nodiscard]] std::string last_words() const;

 private:
  explicit Guest(const Boot& boot) : boot_(boot) {}
  Status make_files();
  Status spawn();
  Status wait_for_driver();
  Status wait_for(std::uint32_t answered);
  Status check_posted();
  Status pause(std::uint32_t& turns, std::uint32_t seen,
               std::chrono::steady_clock::time_point began);
  [[nodiscard]] bool has_ended();
  [[nodiscard]] bool prints_too_much() const;
  [[nodiscard]] Result<std::uint32_t> look();
  [[nodiscard]] std::string log() const;
  [[nodiscard]] std::string wrong_with(const e4r_op& op, const e4r_answer& answer);
  void end();
  void end_group();

  Boot boot_;
  Fd memory_, log_;
  e4r_shared* shared_ = nullptr;
  int pid_ = -1;    // the kernel's process, which is also its process group
  int guard_ = -1;  // the process that ends the group when this program ends
  Listener listener_;
  e4r_answer answer_ = {};  // copy for ask(), since the kernel can change shared memory at any time
  std::uint32_t errors_ = 0;  // errors that the file system had recorded at its mount
  std::array<e4r_op, E4R_SLOTS> waiting_ = {};  // copies of the posted operations
  bool asked_for_ = false;     // the last operation is from ask(), whose caller checks the error
  std::uint32_t asked_ = 0;    // operations posted
  std::uint32_t seen_ = 0;     // answers seen by look()
  std::uint32_t checked_ = 0;  // answers checked by check_posted()
};

}  // namespace e4r::guest
