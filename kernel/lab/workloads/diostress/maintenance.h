// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

#include "stress.h"

// Threads that work on the files during direct writes: a Changer changes files by other operations,
// a Reader reads them.
namespace dio {

class Changer {
 public:
  Changer(Stress& stress, std::uint32_t owner);
  void run(std::uint64_t ops);

 private:
  void one_op(lab::Rng& rng);
  Range draw_range(lab::Rng& rng, std::uint32_t most);
  [[nodiscard]] Range apart_from_mappings(Range range) const;
  void discard(lab::Rng& rng, Kind kind);
  void allocate(lab::Rng& rng);
  void allocate_behind(lab::Rng& rng);
  void grow(lab::Rng& rng, bool allocate);
  void truncate(lab::Rng& rng);
  void write_buffered(lab::Rng& rng);
  void set_size(const Claimed& claimed, std::uint32_t sectors);
  bool fallocate_range(int mode, std::uint32_t first, std::uint32_t count, const Claimed* claimed);

  Stress& stress_;
  Target* target_ = nullptr;  // target of the current operation
  std::uint32_t owner_;
  lab::Buffer buffer_;
  bool can_fallocate_ = true;
  bool can_zero_ = true;
};

class Reader {
 public:
  Reader(Stress& stress, std::uint32_t owner);
  void run(std::uint64_t ops);

 private:
  void one_op(lab::Rng& rng);
  bool fails_rightly(std::uint32_t first, std::uint32_t count, long result);

  Stress& stress_;
  Target* target_ = nullptr;  // target of the current operation
  std::uint32_t owner_;
  lab::Buffer buffer_;
};

}  // namespace dio
