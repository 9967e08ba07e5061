// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ext4/geometry.h"
#include "replay/op_stream.h"
#include "replay/schedule.h"
#include "trace/event.h"
#include "util/status.h"

namespace e4r::replay {

// The numbers of statements in a trace that cannot be true, such as a range outside the image. The
// replay does not apply such statements.
struct Contradictions {
  std::uint64_t outside = 0;       // ranges, groups or blocks outside the image
  std::uint64_t inodes = 0;        // operations on inode 0
  std::uint64_t answers = 0;       // blocks handed out that are not part of the result
  std::uint64_t in_use = 0;        // clusters handed out while in use
  std::uint64_t not_in_use = 0;    // frees of free, preallocated or metadata blocks
  std::uint64_t transactions = 0;  // commits that begin or end out of turn
  std::uint64_t strays = 0;        // closing events and answers without a request
  std::uint64_t first_event = 0;   // number of the first event counted above; 0: no such event

  void note(std::uint64_t Contradictions::*what, std::uint64_t event, std::uint64_t count = 1);
  void add(const Contradictions& others);
  [[nodiscard]] bool any() const { return first_event != 0; }
};

struct ContradictionInfo {
  std::string_view key;
  std::uint64_t Contradictions::*member;
  std::string_view meaning;  // what is counted
};
[[nodiscard]] std::span<const ContradictionInfo> contradiction_table();

// Returns, for example, "operations on inode 0: 1, frees of clusters not in use: 2 (the first at
// event 17)".
[[nodiscard]] std::string describe(const Contradictions& contradictions);

// Checks every operation of a trace before it is applied to the state. An admitted operation names
// only groups, clusters and blocks that exist. The result of an allocation lies inside its group,
// and the answer inside the result.
class Intake {
 public:
  // `geometry` and `contradictions` must outlive the object.
  Intake(const Geometry& geometry, Contradictions& contradictions)
      : geometry_(geometry), found_(contradictions) {}

  // Returns whether the operation may be applied. If not, counts it. An answer that contradicts its
  // closing event is removed from the operation.
  [[nodiscard]] bool admit(Op& op);

 private:
  bool allocation(Op& op);
  void answer(Op& op);
  bool refuse(std::uint64_t Contradictions::*what, const Op& op);
  bool flushing(const Op& op);
  bool end_commit(const Op& op);

  const Geometry& geometry_;
  Contradictions& found_;
  std::uint64_t transaction_ = 0;  // the last transaction that flushed or ended
  bool committing_ = false;        // that transaction has not ended
  bool seen_ = false;
};

// Checks whether a trace can come from a file system with this geometry: the groups, clusters,
// blocks and inodes that it names must exist. The first block of a result also shows the sizes of
// blocks, clusters and groups. Applies nothing. A trace that fits may still contradict the image
// (see Intake).
class Fit final : public trace::EventSink {
 public:
  explicit Fit(const Geometry& geometry)
      : geometry_(geometry),
        inodes_(static_cast<std::uint64_t>(geometry.groups) * geometry.inodes_per_group) {}

  void see(std::span<const trace::Event> events) override;
  void restart() override;

  // The verdict on all events seen. The Error says which event does not fit and why, worded as the
  // end of a sentence that names trace and image.
  [[nodiscard]] Status verdict() const;

 private:
  bool fits(const trace::Event& e);
  bool group(std::uint32_t number) { return number < geometry_.groups || no_group(number); }
  bool place(const trace::RecordedExtent& extent);
  bool block(std::uint64_t number) { return number < geometry_.blocks_count || no_block(number); }
  bool inode(std::uint64_t number) { return inodes_ == 0 || number <= inodes_ || no_inode(number); }
  // Records why the trace does not fit, and returns false.
  bool no_group(std::uint32_t number);
  bool no_cluster(const trace::RecordedExtent& extent, std::uint32_t clusters);
  bool no_block(std::uint64_t number);
  bool no_inode(std::uint64_t number);
  trace::RecordedExtent& closed_by(std::uint32_t pid);
  void answered(const trace::Event& e);

  Geometry geometry_;
  std::uint64_t inodes_;
  std::unordered_map<std::uint32_t, trace::RecordedExtent> closed_;  // each thread's last result
  std::uint32_t last_pid_ = 0;
  trace::RecordedExtent* last_ = nullptr;  // the last result of last_pid_, in closed_
  std::uint64_t placed_ = 0, misplaced_ = 0;
  std::uint64_t number_ = 0;  // number of the last event
  std::string why_;           // why it does not fit; empty: it fits
};

// Runs Fit on each device of a trace, and prefers the devices that fit.
class DeviceFit final : public trace::EventSink {
 public:
  explicit DeviceFit(const Geometry& geometry) : fresh_(geometry) {}

  void see(std::span<const trace::Event> events) override;
  void restart() override;
  // Returns the busiest device that fits, or nullopt if no device fits.
  [[nodiscard]] std::optional<trace::DeviceChoice> prefers(
      const trace::TraceSummary& summary) const override;
  // The verdict on the device whose events were seen since restart().
  [[nodiscard]] Status verdict() const;

 private:
  Fit& of(std::uint32_t dev);

  Fit fresh_;  // has seen only markers of lost events, which count for every device
  std::map<std::uint32_t, Fit> devices_;
};

// Reads a trace to its end and returns the verdict on it. The Error may be the source's.
[[nodiscard]] Status check_fit(const Geometry& geometry, trace::EventSource& events);

// The operations of a trace that Intake admits, in the order in which they took effect.
class OpReader {
 public:
  // The first three arguments are the same as for OpStream. `schedule` must outlive the object.
  OpReader(trace::EventSource& events, const Geometry& geometry, const TraceStart& start,
           const Schedule& schedule)
      : stream_(events, geometry, start), intake_(geometry, contradictions_), schedule_(schedule) {}
  OpReader(const OpReader&) = delete;
  OpReader& operator=(const OpReader&) = delete;

  // The next operation, or null at the end. Valid until the next call.
  [[nodiscard]] Result<const Op*> next();

  // Whether operations are held back until later events have been read.
  [[nodiscard]] bool holds_back() const { return stream_.holds_back() || !held_.empty(); }
  // Contradictions in the trace, and the number of allocations without an answer. Complete once
  // next() has returned null.
  [[nodiscard]] const Contradictions& contradictions() const { return contradictions_; }
  [[nodiscard]] std::uint64_t unanswered() const { return stream_.unanswered(); }

 private:
  [[nodiscard]] Result<const Op*> next_in_place();
  [[nodiscard]] const Op* release();

  OpStream stream_;
  Contradictions contradictions_;
  Intake intake_;
  const Schedule& schedule_;
  std::map<Schedule::Place, Op> held_;  // operations that take effect later
  const Op* next_ = nullptr;            // the stream's next operation, if it has been read
  bool ended_ = false;
  Op now_;                 // an operation that the stream does not own
  std::deque<Op> behind_;  // the operations after now_
};

}  // namespace e4r::replay
