# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: direct writes per second to one file, and their latency. The disk (null_blk, in memory) takes the same time
# for each request, even if it handles many requests at once.
#   NSEC=1000000         nanoseconds per request
#   WRITES="--size 2048 ..."    options of kernel/lab/workloads/diodepth
#   GEOMETRY="-b 4096"   options of mke2fs
#   MOUNT=...            mount options
# With `--append time-travel=inf-cpu`, the clock stands still while the guest computes. Then every run gives the same
# figures, which depend only on the number of writes in flight and not on the CPU.
# mem: 3G
# timeout: 600
# shellcheck source=kernel/lab/guest/null_blk.sh
. "$LAB/guest/null_blk.sh"
make_null_blk size=2048 blocksize=512 "completion_nsec=${NSEC:-1000000}" hw_queue_depth=256 \
    max_sectors=2560
# shellcheck disable=SC2086 # word splitting is intended
mke2fs -q -F -t ext4 -E nodiscard,lazy_itable_init=0 ${GEOMETRY:--b 4096} "$DISK"
mount -t ext4 -o "${MOUNT:-noinit_itable}" "$DISK" "$FS"
# shellcheck disable=SC2086 # word splitting is intended
"$BIN/diodepth" ${WRITES:-} "$FS" >>"$E4R_RUN/figures"
umount "$FS"
e2fsck -fn "$DISK"
