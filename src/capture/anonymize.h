// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/facts.h"
#include "trace/event.h"
#include "util/rng.h"

// Takes out of a capture what tells whose it is, and leaves every decision as it was: inode numbers
// become others of the same group, times a count of events, threads and devices numbers of ours.
namespace e4r::capture {

struct AnonymizeOptions {
  std::uint32_t inodes_per_group = 0;
  std::uint64_t inodes_count = 0;  // numbers above it are none, and stay
  std::uint32_t first_inode = 11;  // those below are the file system's own, and stay
  // An inode's stream goal is chosen by its number modulo this (Linux 6.17): it stays the same.
  std::uint32_t stream_goals = 1;
  std::uint64_t seed = 1;
};

class Anonymizer {
 public:
  explicit Anonymizer(const AnonymizeOptions& options) : options_(options), rng_(options.seed) {}

  // Events in the order of the trace.
  void apply(trace::Event& event);

 private:
  [[nodiscard]] std::uint64_t inode(std::uint64_t ino);
  // The numbers of a group with one residue, shuffled, and how many are in use.
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

// Without names, times and the command.
[[nodiscard]] StartFacts anonymous(const StartFacts& facts);
[[nodiscard]] EndFacts anonymous(const EndFacts& facts);
// Whether a capture was made anonymous, as its recorder says ("e4replay 1.2, anonymous"): its times
// are a count of events.
inline constexpr std::string_view kAnonymous = ", anonymous";
[[nodiscard]] bool is_anonymous(const StartFacts& facts);
// Tunables, of the mount line only the settings that decide something.
[[nodiscard]] std::string anonymous_tunables(std::string_view text);
// Whether the text of that name says nothing of its owner.
[[nodiscard]] bool is_anonymous_text(std::string_view name);

}  // namespace e4r::capture
