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

// The shape of a file system on which to run the allocator model. Groups are small enough to be
// filled.
struct ModelShape {
  const char* name;
  std::uint32_t groups;
  std::uint32_t block_bits;
  std::uint32_t clusters_per_group;
  std::uint32_t cluster_bits = 0;
  std::uint32_t missing = 0;   // clusters missing from the last group
  std::uint32_t log_flex = 0;  // log2 of groups per flex group; 0: no flex_bg
  std::uint32_t stripe = 0;
  bool journal = true;
  bool desc_csum = true;
  bool extents = true;
  friend std::ostream& operator<<(std::ostream& out, const ModelShape& shape) {
    return out << shape.name;
  }
};

// Shapes with block sizes from 1 KiB to 64 KiB, bigalloc, short last groups, groups whose size is
// not a multiple of a bitmap word, one to forty groups, and with or without flex_bg, journal,
// checksums, stripe and extents.
[[nodiscard]] const std::vector<ModelShape>& model_shapes();
[[nodiscard]] const ModelShape& model_shape(std::string_view name);

// Maps a file's cluster number to the first device block of the cluster.
using ClusterMap = std::map<std::uint32_t, std::uint64_t>;

// A start image made in memory, with metadata at the head of every group and, if requested,
// clusters of existing files. Make all changes before the first call of source().
class ModelFs {
 public:
  static constexpr std::uint32_t kMetadata = 4;  // clusters at the head of each group

  explicit ModelFs(const ModelShape& shape);

  [[nodiscard]] const state::MountedGeometry& geometry() const { return source_.geometry; }
  [[nodiscard]] bool is_used(std::uint32_t group, std::uint32_t cluster) const {
    return state::bitmap::test(words_[group], cluster);
  }
  // The bitmap of each group.
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& words() const { return words_; }
  void use(std::uint32_t group, std::uint32_t start, std::uint32_t len);
  // Marks existing clusters as free.
  void free(std::uint32_t group, std::uint32_t start, std::uint32_t len);
  // Marks every cluster as in use.
  void fill();

  // Adds a file of about `clusters` clusters in runs of at most `longest`, and returns its map.
  ClusterMap add_file(Rng& rng, std::uint32_t clusters, std::uint32_t longest);

  // Marks groups without files BLOCK_UNINIT with the given probability in percent.
  void leave_uninit(Rng& rng, std::uint32_t percent);
  // A group that the caller may change freely, to make an image that is intentionally wrong.
  state::GroupSource& group(std::uint32_t number) { return source_.groups[number]; }

  // The start state of a replay. Refers to this object.
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

// Writes the trace that a kernel with the same decisions as an Allocator would write. For an
// allocation, the trace has the request event before the decision, the event of a new preallocation
// where it takes effect, then the closing event and the answer. Events of other threads may come in
// between.
class KernelTraceWriter {
 public:
  // If `inputs` is true, requests have i_size and i_writecount, as a kernel with the trace-inputs
  // patch records them.
  explicit KernelTraceWriter(bool inputs) : inputs_(inputs) {}

  // A pending allocation. Nested allocations must finish in reverse order.
  struct Open {
    Thread thread;
    allocator::Request request;
    std::size_t at = 0;  // index of the request event
    bool closed = false;
  };

  // `asked` is the number of clusters that the file system wants. The allocator's request is
  // shorter if too few clusters are free.
  Open open(const Thread& thread, const allocator::Request& request, std::uint32_t asked);
  // Call this after the allocator's decision. Writes the event that marks the moment of the
  // decision.
  void mark_decision(Open& open, const allocator::Decision& decision);
  // Writes the remaining events.
  void finish(const Open& open, const allocator::Decision& decision);
  // Ends a request that was refused before the allocator saw it.
  void refuse(const Open& open);

  void add_free(const Thread& thread, std::uint64_t ino, std::uint32_t group, std::uint32_t start,
                std::uint32_t len);
  void add_discard(const Thread& thread, std::uint64_t ino);
  void add_load(const Thread& thread, std::uint32_t group);
  void add_inode_event(const Thread& thread, trace::EventKind kind, std::uint64_t ino);
  void add_commit(trace::EventKind kind, std::uint64_t transaction);
  // Writes the event of a recorder's probe: mark_used of the thread's allocation, or mark_freed of
  // the journal's thread.
  void add_mark_used(const Thread& thread, const Extent& taken);
  void add_mark_freed(std::uint32_t group, std::uint32_t start, std::uint32_t len);

  [[nodiscard]] const std::vector<trace::Event>& events() const { return events_; }
  // Moves out the events so far. No allocation may be pending.
  [[nodiscard]] std::vector<trace::Event> take_events();

 private:
  trace::Event& add(trace::EventKind kind, const Thread& thread, std::uint64_t ino);
  void close(const Open& open, const allocator::Decision& decision);
  void answer(const Open& open, std::uint64_t block, std::uint32_t len);

  bool inputs_;
  std::vector<trace::Event> events_;
  std::uint64_t taken_ = 0;  // number of events moved out
};

}  // namespace e4r::conformance
