// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "model.h"

// Ways to have direct writes in flight: pwritev2 (one at a time), libaio and io_uring, the last two
// by their system calls.
namespace dio {

struct Target;

constexpr std::uint32_t kMaxCount = 128;  // sectors of one write
constexpr unsigned kMaxPieces = 3;        // of its memory

struct Io {
  char* memory = nullptr;  // of kMaxCount sectors and a page
  iovec pieces[kMaxPieces];
  unsigned piece_count = 0;
  Target* target = nullptr;
  int fd = -1;  // of the target
  std::uint64_t offset = 0;
  int rw_flags = 0;      // RWF_*
  bool offload = false;  // io_uring: to a worker without being tried first
  long result = 0;
  Claimed claimed{};
};

class Engine {
 public:
  virtual ~Engine() = default;
  // Starts all of them; what is done at once is found by reap() too.
  virtual void submit(const std::vector<Io*>& batch) = 0;
  // Appends what has been done, and waits until that is `least` at least.
  virtual void reap(std::vector<Io*>& out, unsigned least) = 0;
};

std::unique_ptr<Engine> make_engine(Via via, unsigned depth);
// Whether the kernel has io_uring.
bool has_uring();

}  // namespace dio
