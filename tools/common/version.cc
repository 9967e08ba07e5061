// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/version.h"

#include <string_view>

#include "commit.h"

namespace e4r::tools {

std::string version_line() {
  constexpr std::string_view kCommit = E4R_COMMIT;
  std::string out = "e4replay " E4R_VERSION;
  if (!kCommit.empty()) out.append(" (").append(kCommit).append(")");
  return out;
}

}  // namespace e4r::tools
