#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Counts the discards, and their blocks, that a mount with discard sends when adjacent blocks are freed one
# after the other in one transaction: of 1,000 files of four blocks, three are removed, and then all others in a
# scattered order. Run as root, or as a job of the lab:
#   kernel/lab/lab run kernel/reports/discard-twice/discard-twice.sh --kernel 7.3
# Exit status: 0 if each block of the three files was sent once; 1 if some were sent twice. Discards for the other files
# also include the free space after them.
set -euo pipefail
work=$(mktemp -d)
fs=$work/fs
mkdir "$fs"
truncate -s 256M "$work/image"
mke2fs -q -F -t ext4 -b 4096 -J size=64 "$work/image" # the journal must hold everything in one transaction
mount -o loop,nodelalloc,discard,commit=300 "$work/image" "$fs"
device=$(mountpoint -d "$fs" | tr : ,)
cleanup() {
    if [ -d "$trace" ]; then
        echo 0 >"$trace/events/enable"
        rmdir "$trace"
    fi
    umount "$fs"
    rm -r "$work"
}
trap cleanup EXIT
trace=${TRACING:-/sys/kernel/tracing}/instances/discard-twice
mkdir "$trace"
echo 1 >"$trace/events/ext4/ext4_discard_blocks/enable"

# sent WHAT BLOCKS: commits, and counts the discards for this many freed blocks.
sent() {
    local discards
    sync
    sleep 2 # for the worker that discards
    sed -n "s/.* ext4_discard_blocks: dev $device .* count //p" "$trace/trace" >"$work/sent"
    discards=$(wc -l <"$work/sent")
    blocks=$(awk '{ n += $1 } END { print n + 0 }' "$work/sent")
    echo "$1: $2 blocks freed, $discards discards of $blocks blocks"
    : >"$trace/trace"
}

# Each file follows the previous one on the disk. At intervals a block stays used, so that no free extent reaches far
# beyond the removed files.
for ((i = 0; i < 1000; ++i)); do
    printf '%16384s' '' >"$fs/$i"
    if ((i % 20 == 19)); then printf '%4096s' '' >"$fs/stays.$i"; fi
done
sync
: >"$trace/trace"
rm "$fs/100" "$fs/110" "$fs/101"
sent "three files, the third behind the first" 12
of_three=$blocks
for ((i = 0; i < 1000; ++i)); do
    echo "$fs/$((i * 389 % 1000))"
done | xargs rm -f
sent "all the others" 3988
[ "$of_three" = 12 ]
