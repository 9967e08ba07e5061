# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Shows that a kernel is usable: mounts a file system, writes files, reads them back after a remount, and runs e2fsck.
# image: plain-1g
# timeout: 120
mount_disk "${MOUNT:-}"
"$BIN/churn" --ops 300 --files 50 --max-size 1M --mix holes --manifest "$E4R_RUN/manifest" "$FS"
stats_as_figures
umount "$FS"
mount_disk "${MOUNT:-}"
"$BIN/churn" --check "$E4R_RUN/manifest" "$FS" >>"$E4R_RUN/figures"
umount "$FS"
e2fsck -fn "$DISK"
