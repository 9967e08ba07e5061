#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures how much `e4replay record` slows down the recorded file system: writes many small files with and without it,
# in turn. Run as root.
#   record.sh [--pairs N] [--files N] [--events full] [--on DIRECTORY] [BUILD]
#   --on    use this empty directory of a mounted ext4 (default: a file system on a loop device in /dev/shm,
#           mounted with nodelalloc, so that each file causes one allocation request)
#   BUILD   default: build/release
# Where nothing can be built (kernel/lab's job record-cost), E4REPLAY and MKFILES name the programs. Prints a line for
# each pair, then the median, minimum and maximum ratio of times.
set -euo pipefail
cd "$(dirname "$0")/../.."
pairs=9 files=30000 directory='' options=() build=build/release
while [ $# -gt 0 ]; do
    case $1 in
    --pairs) pairs=$2 && shift ;;
    --files) files=$2 && shift ;;
    --events) options+=(--events "$2") && shift ;;
    --on) directory=$2 && shift ;;
    -*) sed -n 's/^#   record/usage: record/p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done
e4replay=${E4REPLAY:-$build/tools/e4replay}
mkfiles=${MKFILES:-$build/bench/mkfiles}
[ -n "${MKFILES:-}" ] || make -s -C kernel/lab/workloads OUT="$(realpath "$build")/bench" \
    "$(realpath "$build")/bench/mkfiles"
work=$(mktemp -d -p /dev/shm)
cleanup() {
    [ -z "${own:-}" ] || umount "$work/fs" || true
    rm -rf "$work"
}
trap cleanup EXIT
if [ -z "$directory" ]; then
    directory=$work/fs
    mkdir "$directory"
    truncate -s 4G "$work/disk"
    mke2fs -q -t ext4 -E lazy_itable_init=0 "$work/disk"
    mount -o loop,nodelalloc "$work/disk" "$directory"
    own=1
fi

# fill: writes all files in a new directory and removes them. Prints the milliseconds that the writing took.
cat >"$work/fill" <<END
set -e
mkdir "$directory/new"
began=\$(date +%s%N)
"$mkfiles" --files $files --kib 4 "$directory/new" >/dev/null
echo \$(((\$(date +%s%N) - began) / 1000000)) >"$work/time"
END
fill() {
    "$@" bash "$work/fill"
    rm -rf "$directory/new"
    sync -f "$directory"
    cat "$work/time"
}

: >"$work/ratios"
for ((i = 0; i < pairs; i++)); do
    rm -f "$work/run.e4c"
    without=$(fill)
    with=$(fill "$e4replay" record "$directory" -o "$work/run.e4c" "${options[@]}" --no-progress -- \
        2>"$work/output")
    requests=$("$e4replay" trace info "$work/run.e4c" | awk '$1 == "requests" { gsub(",", ""); print $2 }')
    lost=$("$e4replay" info "$work/run.e4c" 2>/dev/null | sed -n 's/^events .*, \([^,]*\) lost.*/\1/p')
    awk -v a="$without" -v b="$with" -v r="$requests" -v lost="$lost" -v ratios="$work/ratios" 'BEGIN {
        printf "without %d ms, with %d ms: %.3f times as long; %d requests/s, %s lost\n", a, b, b / a,
            r * 1000 / b, lost
        printf "%.4f\n", b / a >>ratios }'
done
sort -n "$work/ratios" | awk '{ v[NR] = $1 } END {
    printf "median_ratio %.3f\nleast %.3f\nmost %.3f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2,
        v[1], v[NR] }'
