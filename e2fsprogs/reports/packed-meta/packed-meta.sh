#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Shows that e2fsck complains about a file system that mke2fs has just made. $MKE2FS and $E2FSCK name other programs to
# use.
# Exit status: 0 clean, 1 not clean.
set -euo pipefail
image=$(mktemp)
trap 'rm -f "$image"' EXIT
bad=0
for options in '-b 1024 -G 1' '-b 4096 -G 1' '-b 4096 -G 1 -O bigalloc' '-b 4096 -G 2' '-b 4096'; do
    truncate -s 0 "$image"
    truncate -s 512M "$image"
    # shellcheck disable=SC2086 # word splitting is intended
    "${MKE2FS:-mke2fs}" -q -F -t ext4 $options -E packed_meta_blocks=1 "$image" 2>/dev/null
    status=0
    words=$("${E2FSCK:-e2fsck}" -fn "$image" 2>/dev/null) || status=$?
    echo "mke2fs $options -E packed_meta_blocks=1: e2fsck $status"
    [ $status = 0 ] || { grep -m2 'count wrong' <<<"$words" && bad=1; }
done
exit $bad
