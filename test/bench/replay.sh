#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures speed and memory of verify and replay on the bundled captures. Fails if a target is missed.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup.sh test
cmake --preset release -DBUILD_TESTING=ON >/dev/null
cmake --build --preset release --target bench_replay
exec build/release/test/bench/bench_replay traces
