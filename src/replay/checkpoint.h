// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allocator/discards.h"
#include "allocator/planted.h"
#include "allocator/stream_goals.h"
#include "ext4/geometry.h"
#include "replay/accounts.h"
#include "state/fs_state.h"
#include "util/status.h"

namespace e4r::allocator {
class Model;
}

namespace e4r::replay {

class OrderSearch;

// The in-memory state of a run that follows a mounted file system, at one moment. It contains
// everything on which later decisions depend, except the bitmaps. A start image of the same moment
// contains the bitmaps, as they would be on disk (FsState::settled_words). At that moment, no
// allocation or commit is in progress, and every group is loaded. A run that begins with the
// checkpoint and the image makes the same decisions as the original run.
struct Checkpoint {
  struct Prealloc {
    state::Prealloc::Kind kind = state::Prealloc::Kind::inode;
    std::uint64_t owner = 0;  // PlantedPrealloc::kNobody if it serves no request
    std::uint64_t made = 0;   // preallocations made later have higher numbers
    std::uint32_t group = 0;  // where it was made: `made_len` clusters from `start` on
    std::uint32_t start = 0;
    std::uint32_t made_len = 0;
    std::uint32_t len = 0;             // clusters that are left at its end (group kind)
    std::uint32_t logical = 0;         // inode kind
    std::vector<ClusterRange> unused;  // counted from `start`; inode kind
    friend bool operator==(const Prealloc&, const Prealloc&) = default;
  };
  struct Listed {
    std::uint32_t group = 0;
    bool moved = false;  // the group has joined the list since the start (Group::moved_by_largest)
    friend bool operator==(const Listed&, const Listed&) = default;
  };
  struct Freed {
    std::uint32_t group = 0, start = 0, count = 0;
    friend bool operator==(const Freed&, const Freed&) = default;
  };
  struct File {
    std::uint64_t ino = 0;
    FileFacts::File facts;
  };

  // The preallocations of each owner are in the order of its list.
  std::vector<Prealloc> preallocs;
  // The extents freed by the running transaction, in list order. A trace that begins here counts
  // them as its first events, so its first recorded event has the number freed.size() + 1.
  std::vector<Freed> freed;
  std::unordered_map<std::uint32_t, state::TreeShape> freed_shapes;  // by group
  // The kind of the index of groups, and its lists by order (empty if that kind has no lists).
  state::GroupIndex index = state::GroupIndex::none;
  std::vector<std::vector<Listed>> largest, average;
  state::TreeShape tree;
  std::unordered_map<std::uint32_t, std::uint32_t>
      first_free;  // by group: Group::first_free if it is below the first free cluster
  std::vector<std::uint32_t> trimmed;  // groups
  // For each stream: the goals that a later request may find, oldest first.
  std::vector<std::vector<allocator::StreamGoals::Goal>> streams;
  std::uint32_t cursor = 0;                 // SearchStart
  std::vector<allocator::Trim> discards;    // Discards::pending()
  std::vector<std::uint32_t> freeing_data;  // threads (OpStream)
  std::uint64_t trials = 0;                 // trials that OrderSearch may still make
  std::vector<File> files;

  // Takes a checkpoint between two operations of a run. Returns an Error if an allocation, a commit
  // or a discard is in progress. `freeing_data` are the threads whose last ext4_free_blocks freed a
  // regular file's data.
  [[nodiscard]] static Result<Checkpoint> take(OrderSearch& run,
                                               std::vector<std::uint32_t> freeing_data);
  // Checks whether the checkpoint can belong to the start image. The Error names the contradiction.
  [[nodiscard]] Status check(const state::Source& source) const;
  // The checkpoint in the form for deciders that are not models. It lacks the shapes of trees, and
  // all but the latest goal of each stream.
  [[nodiscard]] allocator::Planted planted() const;
  // The latest goal of each stream that has one.
  [[nodiscard]] std::vector<allocator::PlantedStreamGoal> latest_streams() const;
  // Restores the state of a model that was made from the start image and whose groups are loaded.
  // The checkpoint must have passed check(). If the model has another kind of index, its lists are
  // in ascending order of groups.
  void put_into(allocator::Model& model) const;

  // Formats the checkpoint as captures store it (docs/capture-format.md). `keep_file` says whether
  // to write the facts about an inode.
  template <class Keep>
  [[nodiscard]] std::string text(const Keep& keep_file) const {
    std::vector<File> kept;
    for (const File& file : files)
      if (keep_file(file.ino)) kept.push_back(file);
    return text_with(kept);
  }
  [[nodiscard]] std::string text() const { return text_with(files); }
  // Parses the output of text(). The Error names the line.
  [[nodiscard]] static Result<Checkpoint> parse(std::string_view text);

 private:
  [[nodiscard]] std::string text_with(const std::vector<File>& kept) const;
};

}  // namespace e4r::replay
