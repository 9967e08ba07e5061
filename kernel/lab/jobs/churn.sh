# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: every mix of churn's operations in several threads, with mb_optimize_scan on and off. Files must have the
# right contents before and after a remount, and e2fsck must find nothing.
# image: plain-4g
# timeout: 900
for scan in 1 0; do
    mount_disk "mb_optimize_scan=$scan${MOUNT:+,$MOUNT}"
    for mix in basic holes direct; do
        churn_mix "$mix" "$mix-$scan"
    done
    umount "$FS"
    mount_disk "mb_optimize_scan=$scan${MOUNT:+,$MOUNT}"
    for mix in basic holes direct; do
        check_mix "$mix"
    done
    umount "$FS"
    e2fsck -fn "$DISK"
done
