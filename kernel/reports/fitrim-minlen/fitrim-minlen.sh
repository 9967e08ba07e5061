#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Calls FITRIM three times: for all groups with a large minlen, for the first group with minlen 0, and for all groups
# with minlen 0. The last call should discard the short free extents of the other groups. Run as root, on a loop device,
# or as a job of the lab on its disk:
#   kernel/lab/lab run kernel/reports/fitrim-minlen/fitrim-minlen.sh --kernel 7.3
# Exit status: 0 if the last call discards them; otherwise 1.
# disks: 512M
# timeout: 120
set -euo pipefail
work=$(mktemp -d)
fs=$work/fs
image=${DISKS:-$work/image}
mkdir "$fs"
trap 'umount "$fs" 2>/dev/null || true; rm -r "$work"' EXIT
[ -n "${DISKS:-}" ] || truncate -s 512M "$image"
mke2fs -q -F -t ext4 -b 4096 "$image"
mount -o nodelalloc "$image" "$fs"
# Free extents of 1 MiB, each between two files.
for ((i = 0; i < 400; ++i)); do dd if=/dev/zero of="$fs/$i" bs=1M count=1 status=none; done
for ((i = 0; i < 400; i += 2)); do rm "$fs/$i"; done
umount "$fs"
mount -o nodelalloc "$image" "$fs"

# trim WHAT OPTION...: prints the number of bytes that one FITRIM discards.
trim() {
    local bytes
    bytes=$(fstrim -v "${@:2}" "$fs" | sed -n 's/.*(\([0-9]*\) bytes).*/\1/p')
    echo "$1: $bytes bytes" >&2
    echo "$bytes"
}
trim "all groups, minlen 8 MiB" -m 8M >/dev/null
trim "the first group, minlen 0" -o 0 -l 128M >/dev/null
last=$(trim "all groups, minlen 0")
umount "$fs"
mount -o nodelalloc "$image" "$fs"
trim "all groups, minlen 0, after a new mount" >/dev/null
[ "$last" -gt 0 ]
