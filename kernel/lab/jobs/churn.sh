# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: every mix of operations in several threads, contents compared before and after a
# remount, e2fsck clean. With mb_optimize_scan on and off.
# image: plain-4g
# timeout: 900
for scan in 1 0; do
    mount_disk "mb_optimize_scan=$scan${MOUNT:+,$MOUNT}"
    for mix in basic holes direct; do
        home=$FS/$mix-$scan
        mkdir "$home"
        "$BIN/churn" --threads "${THREADS:-4}" --ops "${OPS:-800}" --files 60 --max-size 2M \
            --seed "${RUN_SEED:-1}" --mix "$mix" --manifest "$E4R_RUN/manifest.$mix" "$home" |
            sed "s/^/$mix-$scan\//" >>"$E4R_RUN/figures"
    done
    umount "$FS"
    mount_disk "mb_optimize_scan=$scan${MOUNT:+,$MOUNT}"
    for mix in basic holes direct; do
        "$BIN/churn" --check "$E4R_RUN/manifest.$mix" "$FS"
    done
    umount "$FS"
    e2fsck -fn "$DISK"
done
