// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/builtin.h"
#include "policy/rungs.h"

#include <array>

namespace e4r::policy {
namespace {

constexpr std::array kLadder = {cr0(), cr1(), cr2(), cr3()};

}  // namespace

const Policy kLinear = {
    "linear",
    "CR0 to CR3, every rung walking from group to group (mb_optimize_scan=0)",
    "fs/ext4/mballoc.c, Linux 6.1.192 mounted with mb_optimize_scan=0",
    kLadder,
    trace::Generation::unknown,
    true,
    false,
    false,
    false,
};

}  // namespace e4r::policy
