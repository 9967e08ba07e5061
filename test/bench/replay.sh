#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Speed and memory of verify and replay on the bundled captures. Fails when a target is missed.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup.sh test
cmake --preset release -DBUILD_TESTING=ON >/dev/null
cmake --build --preset release --target bench_replay
tools/unpack_captures.sh build/release/captures
exec build/release/test/bench/bench_replay build/release/captures
