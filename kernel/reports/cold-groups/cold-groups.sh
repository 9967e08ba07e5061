#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Shows whether the first files after a mount are allocated in the group of their goal, and aligned. Eight directories
# are in eight groups. After a mount without bitmap read-ahead, a file in each directory gets 64 KiB. Run as root, or as
# a job of the lab:
#   kernel/lab/lab run kernel/reports/cold-groups/cold-groups.sh --kernel 7.3
#   USED=1               a file of one block exists in each directory before the mount
#   READ_AHEAD=          the mount reads bitmaps ahead, as by default; WAIT=3: write the files this many seconds later
# Exit status: 0 if each file begins within the 16 groups of its directory, at a multiple of its length;
# otherwise 1.
set -euo pipefail
files=8
blocks_per_group=32768
blocks=16 # blocks of a file
behind=${READ_AHEAD-,no_prefetch_block_bitmaps}
work=$(mktemp -d)
fs=$work/fs
mkdir "$fs"
cleanup() {
    if mountpoint -q "$fs"; then umount "$fs"; fi
    rm -r "$work"
}
trap cleanup EXIT
truncate -s 32G "$work/image"
mke2fs -q -F -t ext4 -b 4096 -G 16 -J size=16 "$work/image"
mount -o loop,noinit_itable "$work/image" "$fs"
for ((i = 0; i < files; ++i)); do
    mkdir "$fs/$i"
    if [ "${USED:-0}" = 1 ]; then fallocate -l 4096 "$fs/$i/before"; fi
done
umount "$fs"
mount -o "loop,noinit_itable$behind" "$work/image" "$fs"
# The value that a non-rotating disk gets.
device=$(findmnt -no SOURCE "$fs")
echo 0 >"/sys/fs/ext4/${device##*/}/mb_max_linear_groups"
sleep "${WAIT:-0}"
inodes_per_group=$(dumpe2fs -h "$work/image" 2>/dev/null | sed -n 's/^Inodes per group: *//p')
wrong=0
for ((i = 0; i < files; ++i)); do
    fallocate -l $((blocks * 4096)) "$fs/$i/file"
    start=$(filefrag -v "$fs/$i/file" | awk '$1 == "0:" { print $4 + 0 }')
    home=$((($(stat -c %i "$fs/$i") - 1) / inodes_per_group))
    group=$((start / blocks_per_group))
    verdict=
    if [ $((group / 16)) != $((home / 16)) ]; then verdict+=", far from it"; fi
    if [ $((start % blocks)) != 0 ]; then verdict+=", not aligned"; fi
    echo "directory in group $home, file at block $start in group $group$verdict"
    [ -z "$verdict" ] || wrong=$((wrong + 1))
done
echo "$wrong of $files are wrong"
[ $wrong = 0 ]
