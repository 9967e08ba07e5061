# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: if a resize adds groups while the thread is ending, the tables of these groups are initialized. Before
# the thread ends, it reads all block bitmaps in one batch. On this disk, reading one of them takes seconds, and the
# resize happens within this time.
# image: plain-1g
# timeout: 300
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"
# All 32 groups are initialized. Group 16 contains the metadata of its flex group, so the kernel must read its bitmap
# from the disk.
mke2fs -q -F -t ext4 -b 1024 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$DISK" 256M
bitmap=$(dumpe2fs "$DISK" 2>/dev/null | awk '/^Group 16:/ { here = 1 }
    here && /Block bitmap at/ && !n++ { print $4 + 0 }')
sectors=$(blockdev --getsz "$DISK")
below=$DISK start=$((bitmap * 2))
dmsetup create slow <<TEXT
0 $start linear $below 0
$start 2 delay $below $start 5000 $below $start 0
$((start + 2)) $((sectors - start - 2)) linear $below $((start + 2))
TEXT
DISK=/dev/dm-0
echo 1 >"$TRACING/events/ext4/ext4_read_block_bitmap_load/enable"
reading() {
    grep -q '^ *ext4lazyinit-.*ext4_read_block_bitmap_load:.*group 16 ' "$TRACING/trace"
}

mount -o ro "$DISK" "$FS"
echo 64 >"$(knobs)/mb_prefetch"
: >"$TRACING/trace"
mount -o remount,rw "$FS"
# The thread starts within five seconds.
wait_until 10 reading
started=$(date +%s%N)
"$BIN/resizefs" --blocks $((384 << 10)) "$FS"
took=$((($(date +%s%N) - started) / 1000000))
figure resize_ms $took
expect_that "milliseconds that the resize took" $took -lt 4000
expect "groups" "$(groups_on_disk)" 48
wait_until 30 no_thread
expect "groups left" "$(lazy left)" 0
umount "$FS"
e2fsck -fn "$DISK"
dmsetup remove slow
