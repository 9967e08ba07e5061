#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Replays bundled data: installs missing packages, builds, replays a capture under the 6.1 ladder and under CR1.5,
# and prints both results side by side.
#   tools/demo.sh [CAPTURE]    default: posting-256g, the situation of the CR1.5 posting
set -euo pipefail
cd "$(dirname "$0")/.."
capture=${1:-posting-256g}
build=build/release

tools/setup.sh build
# Configures without tests, which need more packages, unless the build directory is already configured.
[ -e "$build/build.ninja" ] || cmake --preset release -DBUILD_TESTING=OFF >/dev/null
echo "building (the first time takes a minute or two) ..." >&2
cmake --build "$build" --target e4replay >"$build/build.log" || {
    tail -30 "$build/build.log" >&2
    exit 1
}

show() {
    echo "\$ e4replay $*"
    "$build/tools/e4replay" "$@"
}
show verify "traces/$capture.e4c" -p legacy || true
echo
show replay "traces/$capture.e4c" -p legacy,cr1.5 --histogram
