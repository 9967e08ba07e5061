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

// Clusters of one group.
struct FreedRun {
  std::uint32_t group = 0, start = 0, len = 0;
};

// Stands in for ext4 above the allocator: which clusters a file has where, and so what is asked for
// when a range of it is written; how much may still be claimed.
class Account {
 public:
  explicit Account(const state::Source& source);

  // The next request that the range of a write needs, from `from` on; none: all of it is there.
  // What ext4_ext_map_blocks asks for: up to the next mapped cluster, the goal beside the nearest.
  [[nodiscard]] std::optional<allocator::Request> next_request(const Step& write,
                                                               std::uint32_t from) const;
  [[nodiscard]] allocator::Request metadata_request(const Step& step) const;
  // How much of the request is left once free clusters have been claimed for it: it is halved until
  // there are enough (ext4_claim_free_clusters; the guest asks as root). 0: refused.
  [[nodiscard]] std::uint32_t claimed(const allocator::Request& request) const;
  // What was handed out; `logical`: for that block of the file, or metadata.
  void put(std::uint64_t ino, std::optional<std::uint32_t> logical,
           const allocator::Decision& decision);
  // Takes away what the file has in the range, or its metadata: to be freed, in the order in which
  // a truncate frees, each run within a group.
  [[nodiscard]] std::vector<FreedRun> take(std::uint64_t ino, std::uint32_t at, std::uint32_t len);
  [[nodiscard]] std::vector<FreedRun> take_metadata(std::uint64_t ino);

  [[nodiscard]] std::uint64_t free() const { return free_; }

 private:
  // Clusters that lie behind each other in the file and on the disk.
  struct Piece {
    std::uint64_t block = 0;  // the first
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
  std::uint64_t free_ = 0;      // clusters, those included that wait for a commit
  std::uint64_t reserved_ = 0;  // that only requests may claim which must not fail
};

}  // namespace e4r::test::random
