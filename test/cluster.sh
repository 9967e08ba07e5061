#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tests that are skipped where Slurm, GNU parallel or Chromium is missing: installs these, runs the
# tests, and fails when one of them did not run.
#   test/cluster.sh
set -euo pipefail
cd "$(dirname "$0")/.."
tests=(sweep.slurm sweep.parallel report.browser)
tools/setup.sh cluster browser
choice=$(IFS='|' && echo "${tests[*]}")
test/run.sh release -R "^(${choice//./\\.})\$"
# And what unpacks the captures.
test/ran.sh build/release/results.xml $((${#tests[@]} + 1)) >/dev/null
