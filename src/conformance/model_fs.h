// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <vector>

#include "allocator/allocator.h"
#include "state/fs_state.h"
#include "trace/event.h"
#include "util/rng.h"

namespace e4r::conformance {

// A shape of file system to run the allocator model on, with groups small enough to be filled.
struct ModelShape {
  const char* name;
  std::uint32_t groups;
  std::uint32_t block_bits;
  std::uint32_t clusters_per_group;
  std::uint32_t cluster_bits = 0;
  std::uint32_t missing = 0;   // clusters that the last group lacks
  std::uint32_t log_flex = 0;  // flex_bg when not 0
  std::uint32_t stripe = 0;
  bool journal = true;
  bool desc_csum = true;
  bool extents = true;
  friend std::ostream& operator<<(std::ostream& out, const ModelShape& shape) {
    return out << shape.name;
  }
};

// Block sizes from 1K to 64K, bigalloc, short last groups, groups whose size is not a multiple of a
// bitmap word, one group to forty, with and without flex_bg, journal, checksums, stripe and
// extents.
[[nodiscard]] const std::vector<ModelShape>& model_shapes();
[[nodiscard]] const ModelShape& model_shape(std::string_view name);

// Cluster number in the file -> first block of the cluster on the device.
using ClusterMap = std::map<std::uint32_t, std::uint64_t>;

// A start image made in memory: metadata at the head of every group, and on request clusters of
// existing files. Settle everything before the first use of source().
class ModelFs {
 public:
  static constexpr std::uint32_t kMetadata = 4;  // clusters at the head of each group

  explicit ModelFs(const ModelShape& shape);

  [[nodiscard]] const state::MountedGeometry& geometry() const { return source_.geometry; }
  [[nodiscard]] bool is_used(std::uint32_t group, std::uint32_t cluster) const {
    return state::bitmap::test(words_[group], cluster);
  }
  void use(std::uint32_t group, std::uint32_t start, std::uint32_t len);
  // Frees clusters that exist.
  void free(std::uint32_t group, std::uint32_t start, std::uint32_t len);
  // Uses every free cluster.
  void fill();

  // Adds a file of about `clusters` clusters in runs of at most `longest`, and returns its map.
  ClusterMap add_file(Rng& rng, std::uint32_t clusters, std::uint32_t longest);

  // Marks groups without files BLOCK_UNINIT with the given probability in percent.
  void leave_uninit(Rng& rng, std::uint32_t percent);
  // For images that are wrong on purpose.
  state::GroupSource& group(std::uint32_t number) { return source_.groups[number]; }

  // The start of a replay. Refers to this object.
  [[nodiscard]] const state::Source& source();

 private:
  std::vector<std::vector<std::uint64_t>> words_;
  state::Source source_;
};

// Loads every group, as reading mb_groups does.
void load_all(state::FsState& state);

// Delivers events from memory, a few at a time.
class MemorySource : public trace::EventSource {
 public:
  explicit MemorySource(std::span<const trace::Event> events, std::size_t batch = 7)
      : left_(events), batch_(batch) {}
  [[nodiscard]] Result<std::span<const trace::Event>> next() override;

 private:
  std::span<const trace::Event> left_;
  std::size_t batch_;
};

struct Thread {
  std::uint32_t pid = 1;
  std::uint16_t cpu = 0;
};

// Writes the trace that a kernel would write of an Allocator's work: an allocation's request event
// before the decision, a preallocation's event where it takes effect, then the closing event and
// the answer. Events of other threads may come in between.
class KernelTraceWriter {
 public:
  // With `inputs`, requests carry i_size and i_writecount, as a kernel with the patch trace-inputs
  // records them.
  explicit KernelTraceWriter(bool inputs) : inputs_(inputs) {}

  // An allocation under way. Nested ones must finish in reverse order.
  struct Open {
    Thread thread;
    allocator::Request request;
    std::size_t at = 0;  // index of the request event
    bool closed = false;
  };

  // `asked`: the clusters that the file system wanted before it claimed the free ones.
  Open open(const Thread& thread, const allocator::Request& request, std::uint32_t asked);
  // After the allocator's decision: writes the event that marks its moment.
  void mark_decision(Open& open, const allocator::Decision& decision);
  // Writes the remaining events.
  void finish(const Open& open, const allocator::Decision& decision);
  // The request was refused before the allocator saw it.
  void refuse(const Open& open);

  void add_free(const Thread& thread, std::uint64_t ino, std::uint32_t group, std::uint32_t start,
                std::uint32_t len);
  void add_discard(const Thread& thread, std::uint64_t ino);
  void add_load(const Thread& thread, std::uint32_t group);
  void add_inode_event(const Thread& thread, trace::EventKind kind, std::uint64_t ino);
  void add_commit(trace::EventKind kind, std::uint64_t transaction);

  [[nodiscard]] const std::vector<trace::Event>& events() const { return events_; }
  // Hands over the events so far. No allocation may be under way.
  [[nodiscard]] std::vector<trace::Event> take_events();

 private:
  trace::Event& add(trace::EventKind kind, const Thread& thread, std::uint64_t ino);
  void close(const Open& open, const allocator::Decision& decision);
  void answer(const Open& open, std::uint64_t block, std::uint32_t len);

  bool inputs_;
  std::vector<trace::Event> events_;
  std::uint64_t taken_ = 0;  // events that were handed over
};

}  // namespace e4r::conformance
