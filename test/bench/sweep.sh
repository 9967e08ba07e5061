#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures how the speed of sweeps on a bundled capture (default: posting-256g) grows with the number of threads, and
# how much memory they use. Needs an idle machine. Fails if a target is missed.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup.sh test
cmake --preset release -DBUILD_TESTING=ON >/dev/null
cmake --build --preset release --target bench_sweep
exec build/release/test/bench/bench_sweep "traces/${1:-posting-256g}.e4c"
