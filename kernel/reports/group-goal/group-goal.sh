#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Counts the searches for small files if no group has free extents long enough for a group preallocation's
# trimmed goal: 200 files of one block, free extents of 32 blocks. Run as root, or as a job of the lab:
#   kernel/lab/lab run kernel/reports/group-goal/group-goal.sh --kernel 7.3
# Exit status: 0 if files share preallocations; 1 if almost every file needs its own search.
set -euo pipefail
work=$(mktemp -d)
mkdir "$work/fs"
truncate -s 256M "$work/image"
mke2fs -q -F -t ext4 -b 4096 -m 0 -N 1024 -O ^has_journal "$work/image"
mount -o loop,nodelalloc,mb_optimize_scan=1 "$work/image" "$work/fs"
device=$(basename "$(findmnt -n -o SOURCE "$work/fs")")
stats=/proc/fs/ext4/$device/mb_stats
echo 0 >"/sys/fs/ext4/$device/reserved_clusters"
dd if=/dev/zero of="$work/fs/full" bs=1M status=none 2>/dev/null || true # until the disk is full
for ((i = 1; i <= 900; ++i)); do
    fallocate -p -o $((i * 262144)) -l 131072 "$work/fs/full"
done
sync
echo 1 >"/sys/fs/ext4/$device/mb_stats"
for ((i = 1; i <= 200; ++i)); do
    echo small >"$work/fs/$i"
done
sync
grep -E 'reqs|success|_stats|hits|considered|_scanned' "$stats"
hits=$(awk '$1 == "hits:" { hits += $2 } END { print hits }' "$stats")
umount "$work/fs"
rm -r "$work"
echo "200 small files: $hits searches"
[ "$hits" -lt 100 ]
