#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs full-disk.c on a loop device of 64 MiB with nodelalloc and with delayed allocation, with and without the blocks
# that ext4 reserves for the tree of extents. Run as root, or as a job of the lab:
#   kernel/lab/lab run kernel/reports/mapped-exposed/full-disk.sh --kernel 7.3-mapped-exposed
# Exit status: 0 if no data is lost; 1 if some is.
# mem: 1500M
# timeout: 300
set -euo pipefail
source=${JOB:-$0}
work=$(mktemp -d)
fs=$work/fs
mkdir "$fs"
trap 'umount "$fs" 2>/dev/null || true; rm -r "$work"' EXIT
gcc -O2 -Wall -Wextra -o "$work/full-disk" "${source%.sh}.c"
lost=0
for options in nodelalloc delalloc; do
    for reserve in default 0; do
        truncate -s 64M "$work/image"
        mke2fs -q -F -t ext4 -b "${BLOCK:-1024}" -m 0 "$work/image"
        mount -o "loop,$options" "$work/image" "$fs"
        device=$(basename "$(findmnt -n -o SOURCE "$fs")")
        [ $reserve = default ] || echo $reserve >"/sys/fs/ext4/$device/reserved_clusters"
        status=0
        echo "$options, $(cat "/sys/fs/ext4/$device/reserved_clusters") blocks reserved:"
        "$work/full-disk" "$fs" || status=$?
        [ $status -lt 2 ] # 2: the test could not run
        lost=$((lost | status))
        umount "$fs"
        e2fsck -fn "$work/image" >/dev/null 2>&1 || echo "e2fsck finds errors"
        rm "$work/image"
    done
done
[ $lost = 0 ]
