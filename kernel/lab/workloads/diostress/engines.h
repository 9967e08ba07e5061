// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "model.h"

// Ways to keep direct writes in flight: pwritev2 (one write at a time), libaio and io_uring. The
// last two are used through system calls, without the libraries of these names.
namespace dio {

struct Target;

constexpr std::uint32_t kMaxCount = 128;  // sectors per write
constexpr unsigned kMaxPieces = 3;        // memory pieces per write

struct Io {
  char* memory = nullptr;  // kMaxCount sectors plus a page
  iovec pieces[kMaxPieces];
  unsigned piece_count = 0;
  Target* target = nullptr;
  int fd = -1;  // file descriptor of the target
  std::uint64_t offset = 0;
  int rw_flags = 0;      // RWF_*
  bool offload = false;  // io_uring: pass to a worker without trying first
  long result = 0;
  Claimed claimed{};
};

class Engine {
 public:
  virtual ~Engine() = default;
  // Starts all writes of the batch. reap() returns all of them, even writes that complete at once.
  virtual void submit(const std::vector<Io*>& batch) = 0;
  // Appends completed writes to `out`. Waits until at least `least` writes have completed.
  virtual void reap(std::vector<Io*>& out, unsigned least) = 0;
};

std::unique_ptr<Engine> make_engine(Via via, unsigned depth);
// Whether the kernel has io_uring.
bool has_uring();

}  // namespace dio
