// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/capture.h"
#include "trace/event.h"
#include "util/rng.h"

// Removes everything that identifies the owner from a capture, without changing any decision. Inode
// numbers are replaced by others of the same group, and times by a count of events; threads and
// devices get new numbers.
namespace e4r::capture {

struct AnonymizeOptions {
  std::uint32_t inodes_per_group = 0;
  std::uint64_t inodes_count = 0;  // higher numbers are not inodes and are kept
  std::uint32_t first_inode = 11;  // lower numbers belong to the file system and are kept
  // The number of stream goals (Linux 6.17). The inode number modulo this number selects the
  // inode's goal, so the new inode number has the same remainder.
  std::uint32_t stream_goals = 1;
  std::uint64_t seed = 1;
};

class Anonymizer {
 public:
  explicit Anonymizer(const AnonymizeOptions& options) : options_(options), rng_(options.seed) {}

  // Call this for each event, in trace order.
  void apply(trace::Event& event);
  // Returns start/memory (docs/capture-format.md) with the new inode numbers.
  [[nodiscard]] std::string start_memory(std::string_view text);

 private:
  [[nodiscard]] std::uint64_t inode(std::uint64_t ino);
  [[nodiscard]] std::uint64_t goals() const { return std::max(options_.stream_goals, 1u); }
  // The inode numbers of one group with the same remainder, shuffled. The first `used` have been
  // assigned.
  struct Pool {
    std::vector<std::uint64_t> numbers;
    std::size_t used = 0;
  };
  Pool& pool(std::uint64_t group, std::uint64_t residue);

  AnonymizeOptions options_;
  Rng rng_;
  std::uint64_t events_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> inodes_;
  std::unordered_map<std::uint64_t, Pool> pools_;
  std::unordered_map<std::uint32_t, std::uint32_t> pids_;
};

// Returns a copy without names, times and the command.
[[nodiscard]] StartFacts anonymous(const StartFacts& facts);
[[nodiscard]] EndFacts anonymous(const EndFacts& facts);
// The suffix of the recorder's name in an anonymous capture ("e4replay 1.2, anonymous"). The times
// of such a capture are a count of events.
inline constexpr std::string_view kAnonymous = ", anonymous";
[[nodiscard]] bool is_anonymous(const StartFacts& facts);
// Keeps the tunables, and those settings of the mount line that affect decisions.
[[nodiscard]] std::string anonymous_tunables(std::string_view text);
// Whether the text of that name reveals nothing about the owner.
[[nodiscard]] bool is_anonymous_text(std::string_view name);

}  // namespace e4r::capture
