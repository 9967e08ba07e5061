// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/status.h"

#include <system_error>

namespace e4r {

std::string errno_text(int errnum) {
  return std::generic_category().message(errnum);
}

}  // namespace e4r
