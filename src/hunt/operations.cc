// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/operations.h"

#include <algorithm>
#include <cmath>

#include "util/rng.h"
#include "util/units.h"

namespace e4r::hunt {
namespace {

using age::Operation;
using Kind = Operation::Kind;

// Keeps track of the existing files and the free space.
class Drawer {
 public:
  Drawer(const Mix& mix, const Room& room)
      : mix_(mix), room_(room), rng_(mix.seed), free_(room.blocks / 10 * 9) {
    for (std::uint32_t slot = room.slots; slot > 0; --slot) vacant_.push_back(slot - 1);
  }

  std::vector<Operation> draw() {
    for (std::uint32_t i = 0; i < mix_.operations && written_ < room_.most; ++i) {
      if (!step()) break;
      if (mix_.sync_every > 0 && (i + 1) % mix_.sync_every == 0) sync();
    }
    if (out_.empty() || out_.back().kind != Kind::sync) sync();
    return std::move(out_);
  }

 private:
  struct File {
    std::uint32_t slot = 0;
    std::uint64_t bytes = 0;
  };

  // Returns false if nothing more can be done.
  bool step() {
    const std::uint64_t die = rng_.below(100);
    if (die < mix_.removals && !files_.empty()) return remove();
    const bool append = die < std::uint64_t{mix_.removals} + mix_.appends && !files_.empty();
    if (!append && vacant_.empty()) return remove();
    const std::uint64_t bytes = draw_bytes();
    File fresh;
    File& file = append ? files_[rng_.below(files_.size())] : fresh;
    const std::uint64_t more = blocks_of(file.bytes + bytes) - blocks_of(file.bytes);
    if (more > free_) return remove();
    if (!append) {
      file.slot = vacant_.back();
      vacant_.pop_back();
    }
    out_.push_back({append ? Kind::append : Kind::write, file.slot, bytes});
    file.bytes += bytes;
    free_ -= more;
    written_ += more;
    if (!append) files_.push_back(file);
    return true;
  }

  // The file's blocks become free at the next sync.
  bool remove() {
    if (files_.empty()) return false;
    const std::size_t at = rng_.below(files_.size());
    out_.push_back({Kind::remove, files_[at].slot, 0});
    freed_ += blocks_of(files_[at].bytes);
    vacant_.push_back(files_[at].slot);
    files_[at] = files_.back();
    files_.pop_back();
    return true;
  }

  void sync() {
    out_.push_back({Kind::sync, 0, 0});
    free_ += freed_;
    freed_ = 0;
  }

  [[nodiscard]] std::uint64_t blocks_of(std::uint64_t bytes) const {
    return (bytes + room_.block_size - 1) / room_.block_size;
  }

  // Values near the middle are more likely.
  std::uint64_t draw_bytes() {
    constexpr std::uint64_t kSteps = 1024;
    const double away =
        (static_cast<double>(rng_.below(kSteps)) + static_cast<double>(rng_.below(kSteps))) /
            kSteps -
        1;
    const double bytes = static_cast<double>(mix_.file_kb * kKiB) * std::exp2(away * mix_.spread);
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(bytes), 1);
  }

  const Mix& mix_;
  const Room& room_;
  Rng rng_;
  std::uint64_t free_;
  std::uint64_t freed_ = 0;
  std::uint64_t written_ = 0;
  std::vector<File> files_;
  std::vector<std::uint32_t> vacant_;  // free slots; the last is used next
  std::vector<Operation> out_;
};

}  // namespace

std::vector<age::Operation> draw_operations(const Mix& mix, const Room& room) {
  return Drawer(mix, room).draw();
}

}  // namespace e4r::hunt
