#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the packages for the tests, builds, and runs every test. Ends with ctest's closing lines and the
# number of passed tests (test/ran.sh).
#   test/run.sh [PRESET [CTEST ARGUMENTS]]    default: release; also dev, asan, tsan
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
results=$PWD/build/$preset/results.xml
tools/setup.sh test
. test/cached.sh
cmake --preset "$preset" -DBUILD_TESTING=ON >/dev/null
cmake --build --preset "$preset"
rm -rf "$results" "build/$preset/cases"
status=0
ctest --preset "$preset" --output-on-failure --output-junit "$results" "${@:2}" || status=$?
test/ran.sh "$results"
exit $status
