// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Internal to src/lazyinit: libext2fs on top of a Target.
#include <memory>
#include <string>

#include "image/ext2_handle.h"
#include "lazyinit/target.h"

namespace e4r::lazyinit {

// Lets libext2fs use a Target as long as the object lives: open name() with manager(). Every read,
// write, zeroing and flush of libext2fs then goes to the target, without a cache. A flush is
// sync(). A discard is refused.
class TargetIo {
 public:
  explicit TargetIo(Target& target);
  ~TargetIo();
  TargetIo(const TargetIo&) = delete;
  TargetIo& operator=(const TargetIo&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] static io_manager manager();
  // The text of the target's last Error. libext2fs itself only returns a number.
  [[nodiscard]] std::string last_error() const;
  // How the target zeroed the last range for libext2fs.
  [[nodiscard]] Zeroed last_zeroed() const;

 private:
  std::string name_;
};

}  // namespace e4r::lazyinit
