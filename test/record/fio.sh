#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the requests that fio jobs make on this machine's own kernel with the requests of `replay --workload` for the
# same job file. Records each job on a loop device, once on a new file system and once on a file system with many small
# free extents. Then replays the job file on the start image of the recording.
#   fio.sh E4REPLAY [TABLE]
# Prints a row for each job. Writes the table of docs/results/workload.md to the file TABLE. Fails if a figure differs
# by more than that page permits.
set -euo pipefail
# shellcheck source=test/record/loop.sh
. "$(dirname "${BASH_SOURCE[0]}")/loop.sh"
table=$(realpath -m "${2:-/dev/null}")
for tool in fio jq python3; do command -v $tool >/dev/null || skip "no $tool"; done

choose_policy

jobs=()
# job NAME LINES...: writes a job file.
job() {
    {
        printf '[global]\ndirectory=%s\nioengine=psync\nfallocate=none\n' "$fs"
        printf '%s\n' "[$1]" "${@:2}"
    } >"$1.fio"
    jobs+=("$1")
}
job seq-buffered rw=write bs=128k size=200m
job rand-buffered rw=randwrite bs=4k size=64m
job seq-direct rw=write bs=64k size=100m direct=1
job rand-direct rw=randwrite bs=64k size=64m direct=1
job fallocate rw=write bs=128k size=150m fallocate=native
job keep-direct rw=write bs=256k size=100m fallocate=keep direct=1
job small-files rw=write bs=16k size=20m nrfiles=320 numjobs=4
job small-direct rw=write bs=16k size=5m nrfiles=80 numjobs=4 direct=1
job fsync rw=write bs=32k size=8m fsync=4
job read rw=randread bs=16k size=64m

# Makes small free extents: fills 1 GiB with files of 4 to 256 KiB, and removes three of five files.
cat >pieces <<'PIECES'
import os, sys
os.chdir(sys.argv[1])
free = os.statvfs(".").f_bavail * 4096 * 97 // 100
number = 0
while free > 0:
    size = (number * 7919 % 64 + 1) * 4096
    with open(f"f{number}", "wb") as f:
        os.posix_fallocate(f.fileno(), 0, size)
    free -= size
    number += 1
for i in range(number):
    if i % 5 < 3:
        os.unlink(f"f{i}")
PIECES
umount "$fs"
cp --sparse=always "$work/disk" new
mount "$loop" "$fs"
python3 pieces "$fs"
umount "$fs"
cp --sparse=always "$work/disk" old

# figures DOCUMENT RUN: prints the requests for data, their blocks, extents per file, groups considered, search steps
figures() {
    jq -r "$2"' | [.requests - .metadata_requests, .files.extents, .files.avg_extents, .groups_considered,
        .mb_stats.extents_scanned] | map(. * 100 | round / 100) | @tsv' "$1"
}
# beyond A B PERCENT LEAST: whether A and B differ by more than PERCENT of the larger one and by more than LEAST
beyond() {
    awk -v a="$1" -v b="$2" -v share="$3" -v least="$4" \
        'BEGIN { d = a > b ? a - b : b - a; exit !(d > least && d * 100 > share * (a > b ? a : b)) }'
}

{
    echo '| disk | job | data requests | | extents | | extents of a file | | groups considered | | extents scanned | |'
    echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
    echo '| | | kernel | offline | kernel | offline | kernel | offline | kernel | offline | kernel | offline |'
} >"$table"
wrong=
for disk in new old; do
    for name in "${jobs[@]}"; do
        blkdiscard "$loop" # so that only data must be copied
        dd if=$disk of="$loop" bs=1M conv=sparse status=none
        mount "$loop" "$fs"
        record "$fs" -o "$disk-$name.e4c" -- sh -c \
            "fio --output-format=terse $name.fio >fio.out 2>&1 && sync -f $fs" >record.out 2>&1 ||
            bad "$name: $(cat record.out fio.out)"
        umount "$fs"
        "$e4replay" replay "$disk-$name.e4c" --no-progress --json - >recorded.json 2>err || bad "$name: $(cat err)"
        "$e4replay" replay "$disk-$name.e4c" --workload "$name.fio" -p $policy --no-progress --json - \
            >offline.json 2>err || bad "$name: $(cat err)"
        read -r -a real <<<"$(figures recorded.json .recorded)"
        read -r -a ours <<<"$(figures offline.json '.runs[0]')"
        row="| $disk | $name |"
        for i in "${!real[@]}"; do row+=" ${real[i]} | ${ours[i]} |"; done
        echo "$row" | tee -a "$table"
        limits=(25 25 25 60 60) least=(5 5 0.2 100 600)
        for i in "${!real[@]}"; do
            beyond "${real[i]}" "${ours[i]}" "${limits[i]}" "${least[i]}" && wrong+=" $disk/$name/$i"
        done
        if [ -n "${KEEP:-}" ]; then cp "$disk-$name.e4c" "$name.fio" "$KEEP"; fi
        rm "$disk-$name.e4c"
    done
done
[ -z "$wrong" ] || bad "differs by more than docs/results/workload.md says:$wrong"
ok "${#jobs[@]} jobs on two file systems"
