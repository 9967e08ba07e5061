#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the tests that need Slurm, GNU parallel, Chromium, Prometheus or systemd, and that are skipped elsewhere.
# Installs these programs, runs the tests, and fails if a test did not run.
#   test/cluster.sh
set -euo pipefail
cd "$(dirname "$0")/.."
tests=(sweep.slurm sweep.parallel report.browser watch.prometheus watch.service)
tools/setup.sh cluster browser metrics
choice=$(IFS='|' && echo "${tests[*]}")
test/run.sh release -R "^(${choice//./\\.})\$"
# Add one, because ctest also counts the fixture that unpacks the captures.
test/ran.sh build/release/results.xml $((${#tests[@]} + 1)) >/dev/null
