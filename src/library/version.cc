// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/version.h>

namespace e4replay {

const char* version() {
  return E4REPLAY_VERSION;
}

}  // namespace e4replay
