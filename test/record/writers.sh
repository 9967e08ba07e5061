#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Records a mounted file system on this machine's own kernel and verifies the recordings. Three writers overwrite,
# append to, write into, sync and remove 200 files each at random. Each writer makes 400 operations before the recording
# and 300 during it. Prints a row for each recording.
#   writers.sh E4REPLAY [N [DIRECTORY]]
# N is the number of recordings (default: 20). $MKFS adds options for mke2fs. DIRECTORY keeps the recordings. Races
# between the writers can make model and kernel differ, so no test runs this script.
set -euo pipefail
e4replay=$(realpath "$1")
count=${2:-20}
keep=${3:+$(realpath "$3")}
[ "$(id -u)" = 0 ] || { echo "writers.sh: needs root" >&2 && exit 1; }

work=$(mktemp -d)
fs=$work/fs
mkdir "$fs"
cleanup() {
    umount "$fs" 2>/dev/null || true
    [ -z "${loop:-}" ] || losetup -d "$loop" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

cat >"$work/writer" <<'WRITER'
#!/bin/bash
# writer DIRECTORY SEED OPERATIONS: runs one writer
RANDOM=$2
mkdir -p "$1/d$2"
for ((i = 0; i < $3; i++)); do
    file=$1/d$2/f$((RANDOM % 200))
    case $((RANDOM % 10)) in
    0 | 1 | 2 | 3) head -c $(((RANDOM % 60 + 1) * 1024)) /dev/zero >"$file" ;;
    4) head -c $(((RANDOM % 3000 + 1) * 1024)) /dev/zero >"$file" ;;
    5) head -c $(((RANDOM % 30 + 1) * 512)) /dev/zero >>"$file" ;;
    6 | 7) rm -f "$file" ;;
    8) if [ -e "$file" ]; then sync "$file"; fi ;;
    9) dd if=/dev/zero of="$file" bs=4k seek=$((RANDOM % 500)) count=$((RANDOM % 40 + 1)) \
        conv=notrunc status=none ;;
    esac
done
WRITER
cat >"$work/three" <<'THREE'
#!/bin/bash
# three DIRECTORY FIRST-SEED OPERATIONS: runs three writers at the same time
for ((writer = $2; writer < $2 + 3; writer++)); do
    "${0%/*}/writer" "$1" $writer "$3" &
done
wait
THREE
chmod +x "$work/writer" "$work/three"

printf '%4s %9s %9s %9s %7s %7s %9s %9s %9s\n' seed decisions identical alone races skips 'by trace' \
    'by counts' 'not found'
for ((seed = 1; seed <= count; seed++)); do
    truncate -s 1G "$work/disk"
    # shellcheck disable=SC2086 # word splitting is intended
    mke2fs -q -t ext4 -E lazy_itable_init=0 ${MKFS:-} "$work/disk" 2>/dev/null
    loop=$(losetup --find --show "$work/disk")
    mount "$loop" "$fs"
    "$work/three" "$fs" $((seed * 10)) 400
    capture=${keep:-$work}/writers-$seed.e4c
    "$e4replay" record --max-freeze 60s "$fs" -o "$capture" --no-progress -- \
        "$work/three" "$fs" $((seed * 10 + 3)) 300 2>"$work/record.out" ||
        { cat "$work/record.out" >&2 && exit 1; }
    umount "$fs"
    losetup -d "$loop"
    loop=
    status=0
    "$e4replay" verify "$capture" --no-progress --json - >"$work/verify.json" || status=$?
    [ $status = 0 ] || [ $status = 3 ] || exit 1
    python3 - "$seed" "$work/verify.json" <<'ROW'
import json
import sys

with open(sys.argv[2]) as file:
    report = json.load(file)
agreement = report["runs"][0]["agreement"]
warm = report["warm_start"]
print("%4d %9d %9d %9d %7d %7d %9d %9d %9d" % (
    int(sys.argv[1]), agreement["requests"], agreement["identical"], agreement["free_run"]["identical"],
    agreement["races"], agreement["skips"], warm["clusters_shown_by_trace"],
    warm["clusters_found_by_counters"], warm["clusters_not_found"]))
ROW
    [ -n "$keep" ] || rm "$capture"
done
