#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds every fuzzer and runs each of them for SECONDS (default 20). Ends with ctest's closing lines.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup.sh test fuzz
. test/cached.sh
cmake --preset fuzz -DE4R_FUZZ_SECONDS="${1:-20}" >/dev/null
cmake --build --preset fuzz --target fuzzers
ctest --test-dir build/fuzz -L '^fuzz$' -j "$(nproc)" --output-on-failure --no-tests=error
