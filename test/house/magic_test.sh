#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests that file(1) with packaging/magic/e4replay recognizes captures and packed traces, and nothing else.
#   magic_test.sh MAGIC E4REPLAY CAPTURES
# Skipped (77) if file(1) is not installed.
set -euo pipefail
magic=$(realpath "$1") e4replay=$2 captures=$3
command -v file >/dev/null || { echo "no file(1) here" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$e4replay" trace convert "$captures/churn-4k.trace.zst" "$work/run.e4c" --image "$captures/churn-4k.img" >/dev/null
"$e4replay" trace convert "$captures/churn-4k.trace.zst" "$work/run.e4t" >/dev/null
# The signature contains line endings, so it no longer matches if a transfer as text has changed them.
sed 's/\r$//' "$work/run.e4c" >"$work/damaged.e4c"
printf 'text that names an .e4c\n' >"$work/text"

is() {
    local said
    said=$(file -b -m "$magic" "${@:3}" "$1")
    [ "$said" = "$2" ] || {
        echo "magic_test: ${1##*/} is '$said', not '$2'" >&2
        exit 1
    }
}
# file(1) reports mistakes in an entry only when it compiles the entries, not when it matches them.
warnings=$(cd "$work" && file -C -m "$magic" 2>&1) || true
[ -z "$warnings" ] || {
    echo "magic_test: $warnings" >&2
    exit 1
}
is "$work/run.e4c" "e4replay capture of an ext4 file system, version 1"
is "$work/run.e4t" "e4replay packed trace of ext4 events, version 1"
is "$work/run.e4c" application/x-e4replay-capture --mime-type
is "$work/run.e4t" application/x-e4replay-trace --mime-type
is "$work/damaged.e4c" data
is "$work/text" "ASCII text"
