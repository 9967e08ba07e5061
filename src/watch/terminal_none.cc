// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/page.h"

namespace e4r::watch {

Result<std::unique_ptr<Terminal>> Terminal::open() {
  return error("this e4replay was built without ncursesw (libncurses-dev)");
}

}  // namespace e4r::watch
