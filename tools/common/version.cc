// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/version.h"

#include "commit.h"
#include "left_out.h"

namespace e4r::tools {

std::string version_line() {
  constexpr std::string_view kCommit = E4R_COMMIT;
  std::string out = "e4replay " E4R_VERSION;
  if (!kCommit.empty()) out.append(" (").append(kCommit).append(")");
  return out;
}

std::string_view left_out() {
  return E4R_LEFT_OUT;
}

}  // namespace e4r::tools
