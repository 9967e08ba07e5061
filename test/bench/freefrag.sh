#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares freefrag with e2freefrag in one run, on sparse images of 1 TiB and 16 TiB, which take about 1 GiB of $TMPDIR.
# Prints the ratio of their times, and the peak memory. Fails if a target is missed.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup.sh test
cmake --preset release >/dev/null
cmake --build --preset release --target bench_freefrag
exec build/release/test/bench/bench_freefrag "$@"
