# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: several threads repeatedly fill the disk and make room, with mb_optimize_scan on and off. Then e2fsck
# must find nothing.
# image: plain-1g
# timeout: 900
for scan in 1 0; do
    mount_disk "mb_optimize_scan=$scan,${MOUNT:-nodelalloc}"
    mkdir "$FS/$scan"
    "$BIN/fill" --threads "${THREADS:-3}" --rounds "${ROUNDS:-2}" --max-size 4M "$FS/$scan" |
        sed "s/^/$scan\//" >>"$E4R_RUN/figures"
    rm -r "${FS:?}/$scan"
    umount "$FS"
    e2fsck -fn "$DISK"
done
