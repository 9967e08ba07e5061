// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>

#include "allocator/allocator.h"
#include "allocator/decider.h"
#include "allocator/step_clock.h"
#include "state/pretence.h"

namespace e4r::allocator {

// A decider that runs the model of a policy: an allocator with its own state.
class Model final : public Decider {
 public:
  // `source` must outlive the object.
  Model(const state::Source& source, const Policy& policy, const Tunables& tunables);

  // Makes this model equal to `other`, which was made from the same arguments, except for discards.
  // Neither may have a decision or a discard in progress.
  void copy_from(const Model& other);

  // The parts of the model. Callers use them to guide the allocator, or to set up state that a
  // kernel keeps only in memory.
  [[nodiscard]] Allocator& allocator() { return allocator_; }
  [[nodiscard]] state::FsState& own_state() { return state_; }
  [[nodiscard]] Discards& own_discards() { return discards_; }

  Decision allocate(const Request& request, Guide* guide) override;
  bool free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
            bool file_data) override;
  bool give_back(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) override;
  void begin_commit() override;
  void end_commit() override;
  void commit_until(std::uint64_t event) override;
  void unlink_until(std::uint64_t event) override;
  void pretend(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
               bool free) override {
    (void)pretence_.change(group, start, clusters, free);
  }
  void note_event(std::uint64_t event) override { state_.note_event(event); }
  // The number of the committing transaction, if there is one.
  [[nodiscard]] std::optional<std::uint64_t> committing() const { return state_.committing(); }
  // The number of the running transaction.
  [[nodiscard]] std::uint64_t running() const { return transaction_; }
  std::uint64_t send_discards(std::uint64_t most) override;
  std::uint64_t trim(Trim& trim, std::uint64_t most) override;
  void touch(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) override;
  void discard_inode(std::uint64_t ino, std::uint32_t needed) override {
    allocator_.discard_inode(ino, needed);
  }
  void make_inode(std::uint64_t ino) override;
  void drop_inode(std::uint64_t ino) override { state_.forget_inode(ino); }
  void load_group(std::uint32_t group) override { allocator_.load_group(group); }
  void load_by_others(std::uint32_t group) override { allocator_.load_by_others(group); }
  void note_reload(std::uint32_t group) override { allocator_.note_reload(group); }
  void reclaim(std::uint32_t group) override { allocator_.reclaim(group); }
  void mark_read(std::uint32_t first, std::uint32_t next) override {
    allocator_.mark_read(first, next);
  }
  void retune(const Tunables& tunables) override { allocator_.retune(tunables); }
  [[nodiscard]] const state::FsState& state() const override { return state_; }
  [[nodiscard]] const Counters& counters() const override { return allocator_.counters(); }
  [[nodiscard]] const Policy& policy() const override { return allocator_.policy(); }
  [[nodiscard]] const Tunables& tunables() const override { return allocator_.tunables(); }
  // Makes clock_ the observer of every later decision.
  void note_locks(LockNotes& notes) override { clock_.emplace(policy(), notes); }
  void observe(SearchObserver* observer) override { allocator_.observe(observer); }
  [[nodiscard]] Status status() const override { return allocator_.status(); }
  [[nodiscard]] Status finish() override { return {}; }
  [[nodiscard]] const KernelAccount* account() const override { return nullptr; }
  [[nodiscard]] const Discards* discards() const override {
    return state_.geometry().discard || trimmed_ ? &discards_ : nullptr;
  }

 private:
  state::FsState state_;
  Allocator allocator_;
  Discards discards_;
  std::optional<StepClock> clock_;
  state::Pretence pretence_{state_};  // until the next decision
  std::uint64_t transaction_ = 0;     // the running transaction
  bool trimmed_ = false;              // a FITRIM has run
};

}  // namespace e4r::allocator
