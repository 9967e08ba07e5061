// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/lazyinit: libext2fs on top of a Target.
#include <memory>
#include <string>

#include "image/ext2_handle.h"
#include "lazyinit/target.h"

namespace e4r::lazyinit {

// Lends a Target to libext2fs for as long as the object lives: open name() with manager(). Every
// read, write, zeroing and flush of libext2fs then goes through the target; nothing is cached
// here. flush is sync(); discard is refused.
class TargetIo {
 public:
  explicit TargetIo(Target& target);
  ~TargetIo();
  TargetIo(const TargetIo&) = delete;
  TargetIo& operator=(const TargetIo&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] static io_manager manager();
  // The text of the target's last Error; what libext2fs itself gives is but a number.
  [[nodiscard]] std::string last_error() const;
  // How the target made the last range zero that libext2fs asked for.
  [[nodiscard]] Zeroed last_zeroed() const;

 private:
  std::string name_;
};

}  // namespace e4r::lazyinit
