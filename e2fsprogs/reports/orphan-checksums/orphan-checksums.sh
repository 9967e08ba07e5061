#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Sets and clears metadata_csum with tune2fs, and changes the UUID that seeds the checksums, on a file system with an
# orphan file. $MKE2FS, $TUNE2FS and $E2FSCK name other programs to use. As root, also tries to mount the results.
# Exit status: 0 clean, 1 not clean.
set -euo pipefail
work=$(mktemp -d)
image=$work/image
trap 'rm -r "$work"' EXIT
bad=0

# changed FEATURES TUNE2FS-ARGUMENT...: makes a file system with these features, runs tune2fs on it, and checks the
# result.
changed() {
    local features=$1 status=0 words
    shift
    truncate -s 0 "$image"
    truncate -s 64M "$image"
    "${MKE2FS:-mke2fs}" -q -F -t ext4 -O "$features,orphan_file" "$image"
    "${E2FSCK:-e2fsck}" -fn "$image" >/dev/null 2>&1
    "${TUNE2FS:-tune2fs}" "$@" "$image" >/dev/null 2>&1
    words=$("${E2FSCK:-e2fsck}" -fn "$image" 2>/dev/null) || status=$?
    echo "tune2fs $*: e2fsck $status"
    if [ $status != 0 ]; then
        bad=1
        grep -m1 -i orphan <<<"$words" || true
    fi
    [ "$(id -u)" = 0 ] || return 0
    mkdir -p "$work/fs"
    if mount -o loop "$image" "$work/fs" 2>/dev/null; then
        umount "$work/fs"
        echo "tune2fs $*: the kernel mounts it"
    else
        echo "tune2fs $*: the kernel does not mount it"
    fi
}

changed ^metadata_csum -O metadata_csum
changed metadata_csum -O ^metadata_csum
changed metadata_csum,^metadata_csum_seed -U random
exit $bad
