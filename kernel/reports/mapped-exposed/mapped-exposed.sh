#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs mapped-exposed.c on a loop device whose free blocks are filled with a byte, mounted with nodelalloc and
# then with delayed allocation. Run as root, or as a job of the lab:
#   kernel/lab/lab run kernel/reports/mapped-exposed/mapped-exposed.sh
# Exit status: 0 if no old data was read; 1 if some was.
# timeout: 180
set -euo pipefail
source=${JOB:-$0}
work=$(mktemp -d)
fs=$work/fs
mkdir "$fs"
trap 'umount "$fs" 2>/dev/null || true; rm -r "$work"' EXIT
gcc -O2 -Wall -Wextra -pthread -o "$work/mapped-exposed" "${source%.sh}.c"
exposed=0
for options in nodelalloc delalloc; do
    head -c 64M /dev/zero | tr '\0' '\245' >"$work/image"
    mke2fs -q -F -t ext4 -b 4096 -E nodiscard "$work/image"
    mount -o "loop,$options" "$work/image" "$fs"
    status=0
    echo "$options:"
    "$work/mapped-exposed" 165 "$fs" || status=$?
    [ $status -lt 2 ] # 2: the test could not run
    exposed=$((exposed | status))
    umount "$fs"
    e2fsck -fn "$work/image" >/dev/null 2>&1
done
[ $exposed = 0 ]
