// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/power.h"

#include <filesystem>

#include "util/file.h"

namespace e4r::lazyinit {
namespace {

std::string attribute(const std::filesystem::path& supply, const char* name) {
  return read_attribute((supply / name).string());
}

}  // namespace

bool on_battery(const std::string& supplies) {
  bool discharging = false;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(supplies, gone)) {
    const std::string type = attribute(entry.path(), "type");
    if (type == "Battery") {
      discharging |= attribute(entry.path(), "scope") != "Device" &&
                     attribute(entry.path(), "status") == "Discharging";
    } else if (attribute(entry.path(), "online") == "1") {
      return false;
    }
  }
  return discharging;
}

}  // namespace e4r::lazyinit
