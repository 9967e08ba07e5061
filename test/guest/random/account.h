// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "allocator/decision.h"
#include "allocator/request.h"
#include "guest/random/life.h"
#include "state/fs_state.h"

namespace e4r::test::random {

// A run of clusters inside one group.
struct FreedRun {
  std::uint32_t group = 0, start = 0, len = 0;
};

// Simulates the part of ext4 above the allocator. It records the clusters of each file. From these
// it computes which requests a write to a range of the file makes, and how many clusters can still
// be claimed.
class Account {
 public:
  explicit Account(const state::Source& source);

  // Returns the next request for the part of a write's range that begins at `from`, or nothing if
  // all of it is mapped. Like ext4_ext_map_blocks, it requests clusters up to the next mapped one,
  // with a goal next to the nearest mapped one.
  [[nodiscard]] std::optional<allocator::Request> next_request(const Step& write,
                                                               std::uint32_t from) const;
  [[nodiscard]] allocator::Request metadata_request(const Step& step) const;
  // Returns the length for which the request can claim clusters. Halves the requested length until
  // there are enough free clusters (ext4_claim_free_clusters; the guest runs as root). 0 means that
  // the request is refused.
  [[nodiscard]] std::uint32_t claimed(const allocator::Request& request) const;
  // Records an allocation. `logical` is its block in the file, or nothing for metadata.
  void put(std::uint64_t ino, std::optional<std::uint32_t> logical,
           const allocator::Decision& decision);
  // Removes a range of a file, or its metadata, and returns the clusters as runs. The runs are in
  // the order in which a truncate frees them. Each run lies inside one group.
  [[nodiscard]] std::vector<FreedRun> take(std::uint64_t ino, std::uint32_t at, std::uint32_t len);
  [[nodiscard]] std::vector<FreedRun> take_metadata(std::uint64_t ino);

  [[nodiscard]] std::uint64_t free() const { return free_; }

 private:
  // Clusters that are adjacent both in the file and on the disk.
  struct Piece {
    std::uint64_t block = 0;  // the first block
    std::uint32_t len = 0;
  };
  struct File {
    std::map<std::uint32_t, Piece> pieces;  // by their first cluster in the file
    std::vector<std::pair<std::uint64_t, std::uint32_t>> metadata;  // first block, clusters
  };
  void add_piece(File& file, std::uint32_t first, Piece piece);
  void add_run(std::uint64_t block, std::uint32_t clusters, std::vector<FreedRun>& out);

  state::MountedGeometry geometry_;
  std::map<std::uint64_t, File> files_;
  std::uint64_t free_ = 0;      // clusters, including those that wait for a commit
  std::uint64_t reserved_ = 0;  // clusters reserved for requests that must not fail
};

}  // namespace e4r::test::random
