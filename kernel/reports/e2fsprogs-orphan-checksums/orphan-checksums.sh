#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tune2fs sets and clears metadata_csum on a file system with an orphan file. $MKE2FS, $TUNE2FS and $E2FSCK
# name others. As root it also tries to mount what came out.
# Exit status: 0 clean, 1 not clean.
set -euo pipefail
work=$(mktemp -d)
image=$work/image
trap 'rm -r "$work"' EXIT
bad=0
for change in metadata_csum ^metadata_csum; do
    truncate -s 0 "$image"
    truncate -s 64M "$image"
    had=^metadata_csum
    [ $change = metadata_csum ] || had=metadata_csum
    "${MKE2FS:-mke2fs}" -q -F -t ext4 -O "$had,orphan_file" "$image"
    "${E2FSCK:-e2fsck}" -fn "$image" >/dev/null 2>&1
    "${TUNE2FS:-tune2fs}" -O "$change" "$image" >/dev/null 2>&1
    status=0
    words=$("${E2FSCK:-e2fsck}" -fn "$image" 2>/dev/null) || status=$?
    echo "tune2fs -O $change: e2fsck $status"
    [ $status = 0 ] || { grep -m1 -i orphan <<<"$words" && bad=1; }
    if [ "$(id -u)" = 0 ]; then
        mkdir -p "$work/fs"
        if mount -o loop "$image" "$work/fs" 2>/dev/null; then
            umount "$work/fs"
            echo "tune2fs -O $change: the kernel mounts it"
        else
            echo "tune2fs -O $change: the kernel does not mount it"
        fi
    fi
done
exit $bad
