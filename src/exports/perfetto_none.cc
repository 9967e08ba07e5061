// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces perfetto.cc in builds without protobuf.
#include "exports/decisions.h"

namespace e4r::exports {

Status check_perfetto() {
  return error(
      "this e4replay was built without protobuf: build it with libprotobuf-dev and "
      "protobuf-compiler installed");
}

Status write_perfetto(const OutputName& /*name*/, std::span<const Timeline> /*timelines*/,
                      const std::vector<stats::GroupFree>& /*start*/) {
  return check_perfetto();
}

}  // namespace e4r::exports
