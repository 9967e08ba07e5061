#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs what the tests need, builds, and runs every test. Ends with ctest's closing lines.
#   test/run.sh [PRESET]    default: release; also dev, asan, tsan
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
tools/setup.sh test
cmake --preset "$preset" -DBUILD_TESTING=ON >/dev/null
cmake --build --preset "$preset"
ctest --preset "$preset" --output-on-failure
