# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: direct writes per second to one file, and their latency, on a disk (null_blk, in memory) that takes a
# fixed time per request, for any number of requests at once.
#   NSEC=1000000         nanoseconds per request
#   WRITES="--size 2048 ..."    options of kernel/lab/workloads/diodepth
#   GEOMETRY="-b 4096"   options of mke2fs
#   MOUNT=...            mount options
# With a stopped clock (`--append time-travel=inf-cpu`), the figures are the same from run to run. They show the
# number of writes in flight without CPU costs.
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
