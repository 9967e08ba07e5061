#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs mapped-store.c with blocks of 1 KiB and 2 KiB. Run as root, on a loop device, or as a job of the lab on
# its disk:
#   kernel/lab/lab run kernel/reports/mapped-store/mapped-store.sh
# Exit status: 0 if all bytes reached the disk; otherwise 1.
# disks: 64M
# timeout: 120
set -euo pipefail
source=${JOB:-$0}
work=$(mktemp -d)
fs=$work/fs
image=${DISKS:-$work/image}
mkdir "$fs"
trap 'umount "$fs" 2>/dev/null || true; rm -r "$work"' EXIT
gcc -O2 -Wall -Wextra -pthread -o "$work/mapped-store" "${source%.sh}.c"
lost=0
for block in 1024 2048; do
    if [ -z "${DISKS:-}" ]; then truncate -s 64M "$image"; fi
    mke2fs -q -F -t ext4 -b $block "$image"
    mount "$image" "$fs"
    for variant in zero punch; do
        status=0
        echo "blocks of $block bytes:"
        "$work/mapped-store" "$variant" "$fs" || status=$?
        [ $status -lt 2 ] # 2: the test could not run
        lost=$((lost | status))
    done
    umount "$fs"
    e2fsck -fn "$image" >/dev/null 2>&1
done
[ $lost = 0 ]
