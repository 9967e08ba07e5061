// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

namespace e4r::lazyinit {

// Whether the machine runs on its battery: a battery of the machine (scope "Device" is a mouse's)
// says "Discharging", and no mains or USB supply is online. False if there is no such directory, or
// nothing can be read. (Documentation/ABI/testing/sysfs-class-power of Linux 6.1.)
[[nodiscard]] bool on_battery(const std::string& supplies = "/sys/class/power_supply");

}  // namespace e4r::lazyinit
