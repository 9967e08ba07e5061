// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy/builtin.h"
#include "policy/rungs.h"

#include <array>

namespace e4r::policy {
namespace {

constexpr std::array kLadder = {cr0(), cr1(), cr2(), cr3()};

}  // namespace

const Policy kLegacy = {
    "legacy",
    "Linux 6.1: CR0 to CR3, CR0 and CR1 by order lists when mb_optimize_scan is on",
    "fs/ext4/mballoc.c, Linux 6.1.192",
    kLadder,
    trace::Generation::v6_1,
    false,
    false,
    false,
    false,
};

}  // namespace e4r::policy
