// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allocator/discards.h"
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

// All that a run which follows a mounted file system holds in memory at one moment, and that
// decides later requests. The rest is in a start image of the moment: the bitmaps as they would be
// on disk (FsState::settled_words). At that moment no allocation and no commit is under way, and
// every group is loaded. A run that begins with both decides as the run did that goes on.
struct Checkpoint {
  struct Prealloc {
    state::Prealloc::Kind kind = state::Prealloc::Kind::inode;
    std::uint64_t owner = 0;  // PlantedPrealloc::kNobody: it serves no request
    std::uint64_t made = 0;   // the order in which they were made
    std::uint32_t group = 0;  // where it was made: the clusters from `start` on
    std::uint32_t start = 0;
    std::uint32_t made_len = 0;
    std::uint32_t len = 0;             // the last ones of them, which are left (group kind)
    std::uint32_t logical = 0;         // inode kind
    std::vector<ClusterRange> unused;  // counted from `start`; inode kind
    friend bool operator==(const Prealloc&, const Prealloc&) = default;
  };
  struct Listed {
    std::uint32_t group = 0;
    bool moved = false;  // it has joined the list since the start (Group::moved_by_largest)
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

  // Of each owner in the order of its list.
  std::vector<Prealloc> preallocs;
  // Freed by the running transaction, in the order of the list. The events of a trace that begins
  // here are numbered behind these.
  std::vector<Freed> freed;
  std::unordered_map<std::uint32_t, state::TreeShape> freed_shapes;  // by group
  // The index of groups, and its lists by order. Empty if it needs none.
  state::GroupIndex index = state::GroupIndex::none;
  std::vector<std::vector<Listed>> largest, average;
  state::TreeShape tree;
  std::unordered_map<std::uint32_t, std::uint32_t> first_free;  // where it is below the first one
  std::vector<std::uint32_t> trimmed;                           // groups
  // The goals that a later request of a stream may find, the oldest first.
  std::vector<std::vector<allocator::StreamGoals::Goal>> streams;
  std::uint32_t cursor = 0;                 // SearchStart
  std::vector<allocator::Trim> discards;    // Discards::pending()
  std::vector<std::uint32_t> freeing_data;  // threads (OpStream)
  std::uint64_t trials = 0;                 // that OrderSearch may still make
  std::vector<File> files;

  // Keeps the moment between two operations of a run. False if something is under way.
  // `freeing_data`: threads whose last ext4_free_blocks freed a regular file's data.
  [[nodiscard]] static Result<Checkpoint> take(OrderSearch& run,
                                               std::vector<std::uint32_t> freeing_data);
  // Whether it can belong to the start image. The Error says what does not.
  [[nodiscard]] Status check(const state::Source& source) const;
  // Puts it into the state of a model that was made of the start image, and whose groups
  // are loaded. The checkpoint has passed check(). A model with another index of groups has its
  // lists in ascending order.
  void put_into(allocator::Model& model) const;

  // The form in which a capture holds it (docs/capture-format.md). `keep_file`: whether to write
  // what is known of an inode's size.
  template <class Keep>
  [[nodiscard]] std::string text(const Keep& keep_file) const {
    std::vector<File> kept;
    for (const File& file : files)
      if (keep_file(file.ino)) kept.push_back(file);
    return text_with(kept);
  }
  [[nodiscard]] std::string text() const { return text_with(files); }
  // The Error gives the line.
  [[nodiscard]] static Result<Checkpoint> parse(std::string_view text);

 private:
  [[nodiscard]] std::string text_with(const std::vector<File>& kept) const;
};

}  // namespace e4r::replay
