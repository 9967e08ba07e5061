#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures the rates of the trace readers on the bundled capture of 471,000 lines.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup.sh test
cmake --preset release -DBUILD_TESTING=ON >/dev/null
cmake --build --preset release --target bench_trace e4replay
export E4R_BENCH_TRACE=$PWD/build/release/churn-1k-nodelalloc.txt.zst
build/release/tools/e4replay trace convert traces/churn-1k-nodelalloc.e4c "$E4R_BENCH_TRACE" >/dev/null
exec build/release/test/bench/bench_trace "$@"
