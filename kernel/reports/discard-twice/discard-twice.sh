#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# How many discards a mount with discard sends, and of how many blocks, when neighbouring blocks are freed one
# after the other in one transaction: of 1,000 files of four blocks, three are removed, and then all the others
# in a scattered order. As root, or as a job of the lab:
#   kernel/lab/lab run kernel/reports/discard-twice/discard-twice.sh --kernel 7.3
# Exit status: 0 each block was sent once, 1 some were sent twice.
set -euo pipefail
work=$(mktemp -d)
fs=$work/fs
mkdir "$fs"
truncate -s 256M "$work/image"
mke2fs -q -F -t ext4 -b 4096 -J size=64 "$work/image" # a journal that holds all in one transaction
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
twice=0

# sent WHAT BLOCKS: commits, and counts what is sent of so many blocks that were freed.
sent() {
    local discards blocks
    sync
    sleep 2 # for the worker
    read -r discards blocks < <(sed -n "s/.* ext4_discard_blocks: dev $device .* count //p" "$trace/trace" |
        awk '{ n += $1 } END { print NR, n + 0 }')
    echo "$1: $2 blocks freed, $discards discards of $blocks blocks"
    if [ "$blocks" != "$2" ]; then twice=1; fi
    : >"$trace/trace"
}

# Each follows the one before it on the disk. Now and then a block stays, so that no free run goes on far
# behind what is removed.
for ((i = 0; i < 1000; ++i)); do
    dd if=/dev/zero of="$fs/$i" bs=16k count=1 status=none
    if ((i % 20 == 19)); then dd if=/dev/zero of="$fs/stays.$i" bs=4k count=1 status=none; fi
done
sync
: >"$trace/trace"
rm "$fs/100"
rm "$fs/110"
rm "$fs/101"
sent "three files, the third behind the first" 12
for ((i = 0; i < 1000; ++i)); do
    rm -f "$fs/$((i * 389 % 1000))"
done
sent "all the others" 3988
exit $twice
