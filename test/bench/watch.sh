#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures what `e4replay watch` costs: writes many small files with and without it, in turn. Run as root.
#   watch.sh [--pairs N] [--files N] [--writers N] [--rate N] [--fallocate] [-p POLICY,...] [BUILD]
#   watch.sh --memory SIZE [-p POLICY,...] [BUILD]
#   --files   files of each writer (default: 40000); each file causes one allocation request
#   --rate    maximum of files or calls per second of each writer (default: no limit)
#   --fallocate  make --files calls of fallocate in place of files: each call adds 8 KiB to a file, up to 1 MiB
#   --memory  measure only the memory of a watch of an empty (sparse) file system of SIZE, such as 16T
#   -p        policies of the shadow replays (default: none)
#   BUILD     default: build/release
# Prints a line for each pair: how much longer the writers took with the watch, and the watch's processor time, as a
# share of one processor and per request. Then prints the median, minimum and maximum ratio of times.
set -euo pipefail
cd "$(dirname "$0")/../.."
pairs=5 files=40000 writers=2 rate='' memory='' fallocate='' options=() build=build/release
while [ $# -gt 0 ]; do
    case $1 in
    --pairs) pairs=$2 && shift ;;
    --files) files=$2 && shift ;;
    --writers) writers=$2 && shift ;;
    --rate) rate=$2 && shift ;;
    --fallocate) fallocate=yes ;;
    --memory) memory=$2 && shift ;;
    -p) options+=(-p "$2") && shift ;;
    -*) sed -n 's/^#   watch/usage: watch/p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done
e4replay=$(realpath "$build/tools/e4replay")
bench=$(realpath "$build")/bench
make -s -C kernel/lab/workloads OUT="$bench" "$bench/mkfiles" "$bench/fallocate2"
work=$(mktemp -d -p /dev/shm)
watcher=
cleanup() {
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
    umount "$work/fs" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap cleanup EXIT
cd "$work"
mkdir fs
lazy=1
[ -n "$memory" ] || lazy=0
truncate -s "${memory:-4G}" disk
mke2fs -q -F -t ext4 -E nodiscard,lazy_itable_init="$lazy" disk
mount -o loop,nodelalloc,noinit_itable disk fs

# tell KEY: prints a member of the last complete JSON document.
tell() { grep '}$' out | tail -n 1 | jq -r "$1"; }
begin() {
    "$e4replay" watch fs --json --interval 200ms --max-freeze 60s "${options[@]}" >out 2>err &
    watcher=$!
    until [ "$(tell .follows)" = true ]; do sleep 0.1; kill -0 $watcher || { cat err >&2 && exit 1; }; done
}
end() {
    kill -INT $watcher
    wait $watcher || { cat err >&2 && exit 1; }
    watcher=
}
# cpu_ms: prints the processor time of the watch so far.
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) * 1000 / hz }' /proc/$watcher/stat; }
# fill: writes all files in new directories and removes them later. Prints the milliseconds that the writing took.
fill() {
    local i began pids=()
    mkdir fs/new
    began=$(date +%s%N)
    for ((i = 0; i < writers; i++)); do
        mkdir "fs/new/$i"
        if [ -n "$fallocate" ]; then
            "$bench/fallocate2" --rounds $((files / 128)) --rate "${rate:-0}" "fs/new/$i" >/dev/null &
        elif [ -z "$rate" ]; then
            "$bench/mkfiles" --files "$files" --kib 4 "fs/new/$i" >/dev/null &
        else
            python3 - "$files" "$rate" "fs/new/$i" <<'PACED' &
import os, sys, time
files, rate, directory = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
began = time.monotonic()
for i in range(files):
    with open(f"{directory}/{i}", "wb", buffering=0) as file:
        file.write(b"x" * 4096)
    if i % 64 == 0:
        time.sleep(max(0, began + i / rate - time.monotonic()))
PACED
        fi
        pids+=($!)
    done
    wait "${pids[@]}"
    echo $((($(date +%s%N) - began) / 1000000)) >took
}
empty() {
    rm -rf fs/new
    sync -f fs
}

if [ -n "$memory" ]; then
    begin
    sleep 3
    echo "groups $(tell '.mb_groups.compared // empty')"
    awk '/^Vm(HWM|RSS)/ { print $1, $2, $3 }' /proc/$watcher/status
    echo "frozen_s $(tell .frozen_s)"
    end
    exit
fi
: >ratios
for ((i = 0; i < pairs; i++)); do
    fill
    without=$(<took)
    empty
    begin
    before=$(cpu_ms)
    fill
    with=$(<took)
    sleep 1
    cpu=$(awk -v a="$before" -v b="$(cpu_ms)" 'BEGIN { print b - a }')
    requests=$(tell '.columns[0].start.requests')
    said="$(tell .identical) of $(tell .decisions) identical, $(tell .lost_events) lost, $(tell .starts) start image(s)"
    memory=$(awk '/^VmHWM/ { print $2 }' /proc/$watcher/status)
    end
    empty
    awk -v a="$without" -v b="$with" -v cpu="$cpu" -v r="$requests" -v said="$said" -v kb="$memory" 'BEGIN {
        printf "without %d ms, with %d ms: %.3f times as long; %d requests/s; watch: %.1f %% of a processor, ",
            a, b, b / a, r * 1000 / b, cpu * 100 / b
        printf "%.2f us a request, %d KB; %s\n", cpu * 1000 / r, kb, said
        printf "%.4f\n", b / a >>"ratios" }'
done
sort -n ratios | awk '{ v[NR] = $1 } END {
    printf "median_ratio %.3f\nleast %.3f\nmost %.3f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2,
        v[1], v[NR] }'
