# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: how much `e4replay record` slows down a writer of small files on a memory disk that answers at once
# (null_blk). test/bench/record.sh measures the writer with and without recording in turn.
#   E4REPLAY=FILE   the program; must be set
#   PAIRS=9
#   FILES=20000     files per run; each file causes one allocation request
#   EVENTS=minimal
# mem: 3G
# timeout: 900
# append: null_blk.nr_devices=0
# shellcheck source=kernel/lab/guest/null_blk.sh
. "$LAB/guest/null_blk.sh"
make_null_blk size=1024 irqmode=0 completion_nsec=0 hw_queue_depth=64 max_sectors=1024
mke2fs -q -F -t ext4 -E nodiscard,lazy_itable_init=0 "$DISK"
mount -t ext4 -o "${MOUNT:-nodelalloc,noinit_itable}" "$DISK" "$FS"
mkdir -p /dev/shm
mountpoint -q /dev/shm || mount -t tmpfs shm /dev/shm
# shellcheck disable=SC2153 # the caller sets E4REPLAY
E4REPLAY=$E4REPLAY MKFILES=$BIN/mkfiles "$LAB/../../test/bench/record.sh" --pairs "${PAIRS:-9}" \
    --files "${FILES:-20000}" --events "${EVENTS:-minimal}" --on "$FS" | tee "$E4R_RUN/pairs"
tail -3 "$E4R_RUN/pairs" >>"$E4R_RUN/figures"
umount "$FS"
