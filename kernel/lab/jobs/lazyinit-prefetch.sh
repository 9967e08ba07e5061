# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: a pause also stops read-ahead of block bitmaps, even on a file system with nothing to initialize. The job
# pauses once before the first bitmap, and once half-way through.
# base: 6.1
# image: plain-1g
# timeout: 300
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"
# Without uninit_bg, mke2fs writes a block bitmap for every group.
mke2fs -q -F -t ext4 -b 1024 -g 512 -O ^metadata_csum,^uninit_bg,^resize_inode -E nodiscard "$DISK" 512M
# With this delay, reading a batch of bitmaps takes at least 100 ms.
dmsetup create slow --table "0 $(blockdev --getsz "$DISK") delay $DISK 0 100"
DISK=/dev/dm-0
groups=$(dumpe2fs "$DISK" 2>/dev/null | grep -c '^Group [0-9]')
expect_that "groups" "$groups" -ge 1000
echo 1 >"$TRACING/events/ext4/ext4_prefetch_bitmaps/enable"
echo 1 >"$TRACING/events/ext4/ext4_read_block_bitmap_load/enable"

# Prints the number of bitmaps that the thread has read since the trace was cleared.
read_ahead() {
    grep -c '^ *ext4lazyinit-.*ext4_read_block_bitmap_load:' "$TRACING/trace" || true
}
read_at_least() {
    [ "$(read_ahead)" -ge "$1" ]
}

say "paused before the start"
mount -o ro "$DISK" "$FS"
set_lazy state pause
echo 32 >"$(knobs)/mb_prefetch"
expect "state when read-only" "$(lazy state)" idle
: >"$TRACING/trace"
mount -o remount,rw "$FS"
# The thread starts within five seconds.
sleep 7
expect "bitmaps read" "$(read_ahead)" 0
expect "state" "$(lazy state)" paused
set_lazy state resume
expect "state" "$(lazy state)" running
wait_until 10 read_at_least 64

say "paused half-way"
set_lazy state pause
# The thread still finishes the current batch.
sleep 1
before=$(read_ahead)
figure read_before_pause "$before"
expect_that "bitmaps read before the pause" "$before" -lt $((groups - 200))
sleep 3
expect "bitmaps read while paused" "$(read_ahead)" "$before"
expect "state" "$(lazy state)" paused
unmount_quickly

say "not paused"
: >"$TRACING/trace"
mount -o noinit_itable "$DISK" "$FS"
expect "state" "$(lazy state)" running
wait_until 60 state_is idle
expect_that "bitmaps read" "$(read_ahead)" -gt $((groups - 200))
umount "$FS"
e2fsck -fn "$DISK"
dmsetup remove slow
