// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/decider.h"
#include "conformance/model_fs.h"
#include "trace/event.h"
#include "trace/summary.h"

namespace e4r::conformance {

// Forwards requests to another decider and writes the trace that a kernel would write, with the
// inputs of each request. Each CPU has one thread; operations other than requests belong to the
// thread of the last request. All groups are loaded before the first request, as after reading
// mb_groups.
class RecordingDecider : public allocator::Decider {
 public:
  // `decider` must outlive the object and have all groups loaded.
  explicit RecordingDecider(allocator::Decider& decider);

  [[nodiscard]] const std::vector<trace::Event>& events() const { return writer_.events(); }
  // Moves out the events so far.
  [[nodiscard]] std::vector<trace::Event> take_events() { return writer_.take_events(); }
  // Records a request that was refused before an allocator saw it.
  void refuse(const allocator::Request& request);

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
  void pretend(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
               bool free) override {
    decider_.pretend(group, start, clusters, free);
  }
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
  void note_reload(std::uint32_t group) override { decider_.note_reload(group); }
  void reclaim(std::uint32_t group) override { decider_.reclaim(group); }
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
  KernelTraceWriter writer_{true};
  Thread thread_ = {1, 0};  // thread of the last request
  std::uint64_t ino_ = 0;   // inode whose blocks are being freed
  std::uint64_t transaction_ = 1;
};

// The kernel release for a trace of the policy's decisions: the first release that the policy
// models; may be empty.
[[nodiscard]] std::string release_of(const allocator::Policy& policy);
// The generation whose format that kernel uses for its events. (Only this project's kernels print
// the inputs of requests.)
[[nodiscard]] trace::Generation generation_of(const allocator::Policy& policy);

}  // namespace e4r::conformance
