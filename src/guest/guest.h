// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "guest/protocol.h"
#include "util/fd.h"
#include "util/status.h"

// A kernel of User Mode Linux with e4replay's driver (kernel/driver), as a process of this machine.
namespace e4r::guest {

// What the kernel's ubd disk `number` is called in st_rdev.
[[nodiscard]] constexpr std::uint32_t disk_device(std::uint32_t number) {
  constexpr std::uint32_t kMajor = 98, kPartitions = 16;
  return kMajor << 8 | number * kPartitions;
}

struct Boot {
  std::string kernel;                 // file name, made by `e4replay kernel build`
  int disk = -1;                      // of the file system
  int journal = -1;                   // -1: none
  std::uint32_t memory_mib = 512;     // that the kernel has at most
  std::chrono::seconds patience{60};  // for one answer; after that the kernel hangs
};

// Whether an Error says that a kernel failed or hung on what it was asked: a fault of its code, and
// none of what it was given.
[[nodiscard]] bool is_kernels_fault(const Error& error);
[[nodiscard]] Error kernels_fault(std::string_view kernel, std::string_view what);

// One guest. Operations are done in the order in which they are posted. Not thread-safe; ends its
// kernel when it goes, however it goes.
class Guest {
 public:
  // Starts the kernel and waits until its driver has answered for the first time. The Error says
  // what the file is when it is no such kernel, and what the kernel said when it does not boot.
  [[nodiscard]] static Result<std::unique_ptr<Guest>> start(const Boot& boot);
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  ~Guest();

  // Puts the operation into line. The Error is of this one or an earlier one that failed, or of a
  // kernel that has ended or hangs; after it nothing more can be asked.
  [[nodiscard]] Status post(const e4r_op& op);
  // Waits until all that was posted is done. The Error as that of post().
  [[nodiscard]] Status settle();
  // Whom to tell what became of each operation, in order, and no earlier than somebody waits.
  using Listener = std::function<void(const e4r_op&, const e4r_answer&)>;
  void listen(Listener listener) { listener_ = std::move(listener); }
  // As post(), and waits until it is done. The answer is good until the next operation; its `error`
  // is the caller's to look at: 0 or an errno's negative.
  [[nodiscard]] Result<const e4r_answer*> ask(const e4r_op& op);

  // Asks for an operation that wants a text (E4R_MOUNT, E4R_WRITE_FILE); an answer's error is the
  // Error, as "MESSAGE: TEXT OF ERRNO".
  [[nodiscard]] Status tell(const e4r_op& op, std::string_view text, std::string_view message);
  // A file of the guest's proc or sysfs.
  [[nodiscard]] Result<std::string> read_file(const std::string& path);
  [[nodiscard]] Status write_file(const std::string& path, std::string_view value);

  [[nodiscard]] const std::string& kernel() const { return boot_.kernel; }
  [[nodiscard]] const e4r_shared& shared() const { return *shared_; }
  // What the kernel printed that says most about what went wrong.
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
  [[nodiscard]] bool floods() const;
  [[nodiscard]] Result<std::uint32_t> look();
  [[nodiscard]] std::string log() const;
  [[nodiscard]] std::string wrong_with(const e4r_op& op, const e4r_answer& answer);
  void end();
  void end_group();

  Boot boot_;
  Fd memory_, log_;
  e4r_shared* shared_ = nullptr;
  int pid_ = -1;    // of the kernel, which is also its process group
  int guard_ = -1;  // of the process that ends the group with this program
  Listener listener_;
  e4r_answer answer_ = {};                      // of ask(): what both map can change at any time
  std::uint32_t errors_ = 0;                    // that the file system had met when it was mounted
  std::array<e4r_op, E4R_SLOTS> waiting_ = {};  // as they were posted
  bool asked_for_ = false;     // the last one is for ask(), which looks at its answer's error
  std::uint32_t asked_ = 0;    // posted so far
  std::uint32_t seen_ = 0;     // answered so far, as far as anybody has looked
  std::uint32_t checked_ = 0;  // answers of posted operations that were looked at
};

}  // namespace e4r::guest
