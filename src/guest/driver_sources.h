// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace e4r::guest {

// The contents of src/guest/driver/* and protocol.h, which the build embeds.
extern const std::string_view kStateH, kHostC, kChecksumC, kCommitsC, kInodesC, kLocksC, kRequestsC,
    kMemoryC, kPretendC, kFilesC, kDriverC;
extern const std::string_view kMballocC, kExt4H, kSpinlocksH;
extern const std::string_view kProtocolH;
extern const std::string_view kUmlConfig;

}  // namespace e4r::guest
