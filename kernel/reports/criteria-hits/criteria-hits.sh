#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Shows whether a search counts as a hit if it walks through all groups in the last criterion and then takes the best
# extent that it found. The file system has about forty isolated free blocks. Run as root, or as a job of the lab:
#   kernel/lab/lab run kernel/reports/criteria-hits/criteria-hits.sh --kernel 7.3
# Exit status: 0 if each successful search is a hit; 1 if hits are missing.
set -euo pipefail
work=$(mktemp -d)
mkdir "$work/fs"
truncate -s 64M "$work/image"
mke2fs -q -F -t ext4 -b 4096 -m 0 -O ^has_journal "$work/image"
mount -o loop,nodelalloc "$work/image" "$work/fs"
device=$(basename "$(findmnt -n -o SOURCE "$work/fs")")
stats=/proc/fs/ext4/$device/mb_stats
dd if=/dev/zero of="$work/fs/full" bs=1M status=none 2>/dev/null || true # until the disk is full
for ((i = 1; i <= 40; ++i)); do
    fallocate -p -o $((i * 1048576)) -l 4096 "$work/fs/full"
done
sync
echo 1 >"/sys/fs/ext4/$device/mb_stats"
cp "$stats" "$work/before"
dd if=/dev/zero of="$work/fs/new" bs=32k count=1 status=none
sync
diff "$work/before" "$stats" | grep '^>' || true
found=$(awk '$1 == "success:" { success = $2 } $1 == "goal_hits:" { goal = $2 }
    $1 == "hits:" { hits += $2 } END { print success, goal, hits }' "$stats")
read -r requests at_goal hits <<<"$found"
umount "$work/fs"
rm -r "$work"
echo "$requests allocations, $at_goal of them at the goal, $hits found by a criterion"
[ $((at_goal + hits)) = "$requests" ]
