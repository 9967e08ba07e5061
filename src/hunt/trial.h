// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/decider.h"
#include "conformance/model_fs.h"
#include "hunt/candidate.h"
#include "review/review.h"
#include "util/parallel.h"

namespace e4r::hunt {

// Forwards requests to another decider and writes the trace that a kernel would write, with the
// inputs of each request. One thread on one CPU. All groups are loaded before the first request, as
// after reading mb_groups.
class RecordingDecider : public allocator::Decider {
 public:
  // `decider` must outlive the object, with all groups loaded.
  explicit RecordingDecider(allocator::Decider& decider);

  [[nodiscard]] const std::vector<trace::Event>& events() const { return writer_.events(); }

  allocator::Decision allocate(const allocator::Request& request, allocator::Guide* guide) override;
  bool free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
            bool file_data) override;
  bool give_back(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) override {
    return decider_.give_back(group, start, clusters);
  }
  void begin_commit() override;
  void end_commit() override;
  void commit_until(std::uint64_t event) override { decider_.commit_until(event); }
  void unlink_until(std::uint64_t event) override { decider_.unlink_until(event); }
  void note_event(std::uint64_t event) override { decider_.note_event(event); }
  std::uint64_t send_discards(std::uint64_t most) override { return decider_.send_discards(most); }
  std::uint64_t trim(allocator::Trim& trim, std::uint64_t most) override {
    return decider_.trim(trim, most);
  }
  void touch(std::uint32_t group, std::uint32_t start, std::uint32_t clusters) override {
    decider_.touch(group, start, clusters);
  }
  void discard_inode(std::uint64_t ino, std::uint32_t needed) override;
  void make_inode(std::uint64_t ino) override { decider_.make_inode(ino); }
  void drop_inode(std::uint64_t ino) override { decider_.drop_inode(ino); }
  void load_group(std::uint32_t group) override { decider_.load_group(group); }
  void load_by_others(std::uint32_t group) override { decider_.load_by_others(group); }
  void note_reload() override { decider_.note_reload(); }
  void mark_read(std::uint32_t first, std::uint32_t next) override {
    decider_.mark_read(first, next);
  }
  void retune(const allocator::Tunables& tunables) override { decider_.retune(tunables); }
  [[nodiscard]] const state::FsState& state() const override { return decider_.state(); }
  [[nodiscard]] const allocator::Counters& counters() const override { return decider_.counters(); }
  [[nodiscard]] const allocator::Policy& policy() const override { return decider_.policy(); }
  [[nodiscard]] const allocator::Tunables& tunables() const override { return decider_.tunables(); }
  void observe(allocator::SearchObserver* observer) override { decider_.observe(observer); }
  void note_locks(allocator::LockNotes& notes) override { decider_.note_locks(notes); }
  [[nodiscard]] Status status() const override { return decider_.status(); }
  [[nodiscard]] Status finish() override { return decider_.finish(); }
  [[nodiscard]] const allocator::KernelAccount* account() const override {
    return decider_.account();
  }
  [[nodiscard]] const allocator::Discards* discards() const override { return decider_.discards(); }

 private:
  allocator::Decider& decider_;
  conformance::KernelTraceWriter writer_{true};
  std::uint64_t ino_ = 0;  // inode whose blocks are being freed
  std::uint64_t transaction_ = 1;
};

// The figure of that key, which should become worse; "ns" is decision_ns/mean. The Error lists all
// figures.
[[nodiscard]] Result<const results::Row*> find_objective(std::string_view key);

// One candidate under both policies.
struct Trial {
  results::Outcome base, with;
  // How the kernel of each side failed: it met an error, hung or ended; empty: it did not fail.
  // After a failure there are no values.
  std::array<std::string, 2> failed;
  // Times are compared, and both decided every request alike: they differ by noise alone. The
  // score is 0.
  bool alike = false;
  double base_value = 0, with_value = 0;  // of the objective
  bool higher_is_better = false;          // of its values
  // By how many powers of two the second is worse; below 0: it is better. What a search costs
  // counts from a tenth of a step a request on, so that nothing is not infinitely better than
  // little.
  double score = 0;
  [[nodiscard]] bool has_failed() const { return !failed[0].empty() || !failed[1].empty(); }
  // How many times worse the second value is; infinite when it is nothing on one side.
  [[nodiscard]] double times() const {
    return higher_is_better ? base_value / with_value : with_value / base_value;
  }
};

// Fills in values and score of two outcomes. False: they have no such figure.
[[nodiscard]] bool measure(const results::Row& objective, Trial& trial);

// A trial's input: a start, and operations on it.
struct Scene {
  std::shared_ptr<const Start> start;
  std::vector<age::Operation> operations;
  age::Writing writing = age::Writing::delayed;
  std::vector<std::uint32_t> inodes;  // inodes of the slots that the operations use
  std::vector<std::string> settings;
};
[[nodiscard]] Scene scene_of(const Candidate& candidate, std::shared_ptr<const Start> start);

// What one policy makes of the scene; with `recorder`, its trace is put there. Errors: an invalid
// setting; the file system is full, or has too few inodes; a kernel that does not start.
[[nodiscard]] Result<results::Outcome> play(const Scene& scene, const review::Side& side,
                                            std::vector<trace::Event>* events = nullptr);

// The two policies and the objective.
struct Match {
  review::Side base, with;
  const results::Row* objective = nullptr;
  std::uint64_t least_requests = 0;         // to the allocator: cases with fewer do not count
  const std::atomic<bool>* stop = nullptr;  // true: the hunt must end; null: nothing stops it
};
// For a Stoppable around what may take long in a thread, such as ageing and trials.
[[nodiscard]] Stoppable::Asked stop_of(const Match& match);

// The scores of a case in which the kernel of the second policy failed, of which nothing can be
// worse, and of one in which only the first policy's kernel failed, which says nothing about the
// second.
inline constexpr double kWorstScore = 1e6, kNoScore = -100;

// Plays it under both. Empty: it does not count as a case, one of them ran out of space, or they do
// not have the figure. A kernel that fails is not an Error: the Trial says so, however few requests
// it made. If times are compared and the second one is worse, both are played three times in turn,
// and each side takes its median run.
[[nodiscard]] Result<std::optional<Trial>> try_scene(const Scene& scene, const Match& match);

// The tunables of a side.
[[nodiscard]] Result<allocator::Tunables> tunables_of(const Scene& scene, const review::Side& side);

}  // namespace e4r::hunt
