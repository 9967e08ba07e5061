#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rewrites the expected output of golden tests. Check the diff before you commit it.
#   test/golden/update.sh [BUILD] [CASE...]    default: build/release, all
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/release}
shift || true
for tool in e4replay mke2fs-lazy tune2fs-lazy; do
    [ -x "$build/tools/$tool" ] || { echo "update.sh: no $build/tools/$tool: build it first" >&2; exit 1; }
done
test/support/unpack_captures.sh "$build/tools/e4replay" "$build/captures"
if [ $# -eq 0 ]; then
    for cmd in test/golden/*/cmd; do
        set -- "$@" "$(basename "$(dirname "$cmd")")"
    done
fi
for name; do
    UPDATE=1 test/golden/run_case.sh "$PWD/test/golden/$name" "$PWD/$build/tools/e4replay" \
        "$PWD/$build/captures"
done
git diff --stat -- test/golden
