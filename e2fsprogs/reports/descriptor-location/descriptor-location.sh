#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Checks the blocks of group descriptors on file systems with and without bigalloc. Needs libext2fs-dev.
# Exit status: 0 if all are at the blocks that libext2fs computes; otherwise 1.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
gcc -o "$work/descriptor-location" "$(dirname "$0")/descriptor-location.c" -lext2fs -lcom_err
bad=0
for options in '-b 1024 -O bigalloc -C 2048' '-b 1024' '-b 4096 -O bigalloc'; do
    rm -f "$work/image"
    truncate -s 1G "$work/image"
    # shellcheck disable=SC2086 # word splitting is intended
    mke2fs -q -F -t ext4 $options "$work/image" 2>/dev/null
    echo "mke2fs $options: $(dumpe2fs "$work/image" 2>/dev/null | grep -m1 -o 'Group descriptors\? at.*')"
    "$work/descriptor-location" "$work/image" || bad=1
done
exit $bad
