# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: how long the first allocation in each of many directories takes after a mount, how many bitmaps are read for
# this, and how many files begin in the group of their directory. The directories are spread over 512 groups. The disk
# (null_blk) takes a fixed time for a request.
#   DIRS=400         directories
#   PROCESSES=1      processes that allocate
#   NSEC=1000000     nanoseconds per request
#   QUEUE=64         requests that the disk handles at a time
#   MOUNT=...        mount options (default: noinit_itable,no_prefetch_block_bitmaps)
# mem: 1500M
# timeout: 300
# shellcheck source=kernel/lab/guest/null_blk.sh
. "$LAB/guest/null_blk.sh"
make_null_blk size=8192 "completion_nsec=${NSEC:-1000000}" "hw_queue_depth=${QUEUE:-64}"
# 512 groups of 16 MiB.
mke2fs -q -F -t ext4 -b 4096 -g 4096 -G 1 -J size=16 -E nodiscard "$DISK"
mount -t ext4 -o noinit_itable "$DISK" "$FS"
cat "$(mb_proc)/mb_groups" >/dev/null # loads every group, so that each file gets blocks in its group
"$BIN/coldfiles" --dirs "${DIRS:-400}" "$FS"
umount "$FS"
echo 3 >/proc/sys/vm/drop_caches
mount -t ext4 -o "${MOUNT:-noinit_itable,no_prefetch_block_bitmaps}" "$DISK" "$FS"
events=ext4:ext4_read_block_bitmap_load start_trace
"$BIN/coldfiles" --step allocate --dirs "${DIRS:-400}" --processes "${PROCESSES:-1}" --per-group 4096 "$FS" \
    >>"$E4R_RUN/figures"
save_trace "$E4R_RUN/trace"
figure bitmaps_read "$(grep -c 'ext4_read_block_bitmap_load:' "$E4R_RUN/trace")"
umount "$FS"
e2fsck -fn "$DISK"
