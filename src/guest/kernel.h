// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/decider.h"
#include "allocator/planted.h"
#include "guest/guest.h"
#include "guest/kernel_file.h"

namespace e4r::guest {

struct KernelOptions {
  const allocator::Policy* policy = nullptr;  // from kernel_policy()
  std::string kernel;                         // path of the kernel
  std::string mount_options;              // extra options, for a tree whose decisions depend on one
  std::vector<TreeTunable> own_tunables;  // tunables that only this tree has
  std::string image;                      // path of the start image
  std::string named;                      // the image's name in messages
  allocator::Tunables tunables;
  bool loaded = false;         // all buddies were loaded when the trace began
  allocator::Planted planted;  // nothing unless `loaded`
};

// The block allocator of a kernel as a decider. It records the kernel's allocations in its own
// state. Only the bitmaps of this state are valid. Preallocations exist only in the kernel's
// memory.
//
// Each request is made for a stand-in of its inode. If the trace lacks the file's size and number
// of writers, the stand-in gets values that lead the kernel to the mode and the size step of
// DecisionInputs (ext4_mb_group_or_file and ext4_mb_normalize_request read i_size and
// i_writecount). Its size is the largest end of the file that the trace has shown so far, unless
// that contradicts mode or step. Code that depends on more than mode and step may decide
// differently for the true size. Such decisions are marked (Decision::size_guessed).
class KernelDecider final : public allocator::Decider {
 public:
  // Boots the kernel and mounts the image. `source` describes the image and must outlive the
  // object.
  [[nodiscard]] static Result<std::unique_ptr<KernelDecider>> start(const state::Source& source,
                                                                    const KernelOptions& options);

  // Lets a caller post requests without waiting, if its next request does not depend on the last
  // decision. From now on, allocate() does not wait and returns an empty decision. Instead, `heard`
  // is called for each decision, in order, with the number of groups that the kernel has considered
  // so far. Allocations are not recorded, so state() does not change.
  using Heard =
      std::function<void(const allocator::Decision&, std::optional<std::uint64_t> considered)>;
  void run_ahead(Heard heard);

  allocator::Decision allocate(const allocator::Request& request, allocator::Guide* guide) override;
  bool free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
            bool file_data) override;
  bool give_back(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) override;
  void begin_commit() override;
  void end_commit() override;
  void commit_until(std::uint64_t event) override;
  void pretend(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
               bool free) override;
  void unlink_until(std::uint64_t) override {}  // the code's trees cannot be changed from outside
  void note_event(std::uint64_t event) override { event_ = event; }
  // The kernel's discards are unknown.
  std::uint64_t send_discards(std::uint64_t) override {
    (void)state_.take_given_back();
    return 0;
  }
  std::uint64_t trim(allocator::Trim& trim, std::uint64_t) override {
    trim.done = true;
    return 0;
  }
  void touch(std::uint32_t, std::uint32_t, std::uint32_t) override {}
  void discard_inode(std::uint64_t ino, std::uint32_t needed) override;
  void make_inode(std::uint64_t ino) override;
  void drop_inode(std::uint64_t ino) override;
  void load_group(std::uint32_t) override {}  // the kernel loads groups itself
  void load_by_others(std::uint32_t group) override;
  void note_reload(std::uint32_t group) override;
  void reclaim(std::uint32_t group) override;
  void mark_read(std::uint32_t first, std::uint32_t next) override;
  void retune(const allocator::Tunables& tunables) override;
  [[nodiscard]] const state::FsState& state() const override { return state_; }
  [[nodiscard]] const allocator::Counters& counters() const override { return counters_; }
  [[nodiscard]] const allocator::Policy& policy() const override { return *options_.policy; }
  [[nodiscard]] const allocator::Tunables& tunables() const override { return options_.tunables; }
  void observe(allocator::SearchObserver*) override {}  // a kernel does not report its steps
  void note_locks(allocator::LockNotes& notes) override { notes_ = &notes; }
  [[nodiscard]] Status status() const override { return status_; }
  [[nodiscard]] Status finish() override;
  [[nodiscard]] const allocator::KernelAccount* account() const override { return &account_; }
  [[nodiscard]] const allocator::Discards* discards() const override { return nullptr; }

 private:
  KernelDecider(const state::Source& source, const KernelOptions& options);
  Status boot(const state::Source& source);
  Status mount(const state::Source& source);
  Status set_tunables(const allocator::Tunables* before);
  Status set_own_tunables();
  Status load_all();
  Status plant_freed();
  Status plant_preallocs();
  Status place_groups();
  void post(const e4r_op& op);
  void fill_inode(const allocator::Request& request, e4r_op& op) const;
  void fill_race(const allocator::Request& request, e4r_op& op) const;
  void note_guesses(const allocator::Request& request, allocator::Decision& out) const;
  [[nodiscard]] std::string wrong_with(const e4r_op& op, const e4r_answer& answer) const;
  allocator::Decision decision(const e4r_op& op, const e4r_answer& answer);
  void count(const allocator::Decision& decision, std::uint64_t considered);
  void keep(const allocator::Decision& decision);
  void read_locks();

  KernelOptions options_;
  std::unique_ptr<Guest> guest_;
  state::FsState state_;
  allocator::Counters counters_;
  allocator::KernelAccount account_;
  std::set<std::string_view> absent_;  // names of tunables that the kernel lacks
  Status status_;
  bool ahead_ = false;
  std::uint64_t considered_ = 0;     // groups considered, according to the kernel
  std::vector<std::uint64_t> held_;  // scratch
  state::FreedList
      freed_;  // the extents that commits will return, in the order of the kernel's list
  std::uint64_t event_ = 0;         // event of later frees
  std::uint64_t transaction_ = 0;   // number of the running transaction
  bool committing_ = false;         // the previous transaction is being committed
  allocator::StreamGoals streams_;  // goals at the start, and goals that searches have set
  allocator::LockNotes* notes_ = nullptr;
  std::vector<std::uint16_t> lock_names_;   // maps the kernel's name numbers to those of notes_
  std::vector<allocator::LockStep> steps_;  // scratch
};

}  // namespace e4r::guest
