// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engines.h"
#include "stress.h"

// Threads that make direct writes. Each uses one engine and keeps several writes in flight.
namespace dio {

class Writer {
 public:
  // `owner` counts from 1.
  Writer(Stress& stress, Via via, std::uint32_t owner, unsigned depth);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Runs a round of `ops` operations. Returns when all of them have completed.
  void run(std::uint64_t ops);

 private:
  // `count` blocks, starting at the sector `first`.
  struct Blocks {
    std::uint32_t first, count;
  };

  void one_op(lab::Rng& rng);
  void plain(lab::Rng& rng);
  void burst(lab::Rng& rng);
  void cover(lab::Rng& rng);
  void tail_overwrite(lab::Rng& rng, Mode mode);
  void extend(lab::Rng& rng);
  void tail_burst(lab::Rng& rng);

  Blocks draw_blocks(lab::Rng& rng);
  void add(lab::Rng& rng, std::uint32_t first, std::uint32_t count, Mode mode);
  void add_extend(lab::Rng& rng, std::uint32_t count, std::uint32_t gap, std::uint32_t back);
  void prepare(lab::Rng& rng, Io& io, bool may_refuse);
  [[nodiscard]] bool is_whole(const Claimed& claimed) const;
  void count_write(const Claimed& claimed, bool shared);
  Io* free_io();
  void flush();
  void reap(unsigned least);
  void finish(Io& io);

  Stress& stress_;
  Target* target_ = nullptr;  // target of the operations being added
  Via via_;
  std::uint32_t owner_;
  lab::Buffer memory_;
  std::unique_ptr<Engine> engine_;
  std::deque<Io> ios_;
  std::vector<Io*> free_, batch_, done_;
  std::size_t in_flight_ = 0;
};

}  // namespace dio
