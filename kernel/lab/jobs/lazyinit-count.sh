# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: lazyinit_done and lazyinit_left agree with the group descriptors. This is checked at mount (read-only,
# after a journal replay), while groups are initialized, after remounts, after a change by another program, and after
# the file system has grown.
# image: plain-1g
# mem: 2G
# timeout: 300
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"

# The reference is dumpe2fs, which reads the kernel's buffers of a mounted disk.
expect_counts() {
    local all
    all=$(groups_on_disk)
    zeroed=$(zeroed_on_disk)
    expect "$1" "$(lazy "done") $(lazy left)" "$zeroed $((all - zeroed))"
}

say "at mount"
# Periodic writeback would also write committed blocks to their place on the disk. On a slow guest, this could happen
# before the test copies the disk, so it is switched off.
echo 0 >/proc/sys/vm/dirty_writeback_centisecs
size=512M make_lazy -b 1024
mount -o ro "$DISK" "$FS"
expect_counts "read-only"
if has_lazy state; then expect "state when read-only" "$(lazy_state)" "idle 0 $groups"; fi
mount -o remount,rw,noinit_itable "$FS"
expect_counts "writable"
mount -o remount,init_itable=200 "$FS"
wait_until 60 at_least 5
hold
sleep 0.5
expect_counts "after some groups"
expect_that "groups done" "$zeroed" -ge 5

say "a journal to be replayed"
# Copies the disk as it would be after a crash: the flags are only in the journal. Copies the host's file of the disk,
# because reading the disk in the guest would first write its dirty buffers. Does not copy holes, because on a debug
# kernel, half a gigabyte of data in memory would start writeback.
echo >"$FS/file"
sync "$FS/file"
truncate -s 512M /mnt/crashed
dd if="$E4R_RUN/disk" of=/mnt/crashed bs=64K count=8K conv=sparse,notrunc status=none
crashed=$(losetup -f --show /mnt/crashed)
expect "groups marked before the replay" "$(DISK=$crashed zeroed_on_disk)" 0
mkdir /mnt/crashed.d
mount -o noinit_itable "$crashed" /mnt/crashed.d
DISK=$crashed expect_counts "after the replay"
expect_that "groups done before the crash" "$zeroed" -ge 5
umount /mnt/crashed.d
losetup -d "$crashed"
echo 500 >/proc/sys/vm/dirty_writeback_centisecs

say "after remounts"
mount -o remount,ro "$FS"
expect_counts "read-only again"
before=$(lazy left)
# Another program marks a group as not initialized, as e2fsck does if it finds a fault in the table.
group=$(dumpe2fs "$DISK" 2>/dev/null |
    sed -n 's/^Group \([0-9]*\): .* \[INODE_UNINIT, BLOCK_UNINIT, ITABLE_ZEROED\].*/\1/p' | head -1)
printf 'set_bg %s\n' "$group flags 3" "$group checksum calc" >"$TMPDIR/debugfs"
debugfs -w -f "$TMPDIR/debugfs" "$DISK"
# A kernel that maintains a count (the series for 6.1) does not notice that change. The series for 7.3 counts the groups
# on each read.
if has_lazy state; then expect "left before the remount" "$(lazy left)" "$before"; fi
mount -o remount,rw,noinit_itable "$FS"
expect_counts "after another program"
expect "left" "$(lazy left)" $((before + 1))

say "grown"
before=$(lazy left)
resize2fs "$DISK" 640M
expect_counts "grown by groups that resizing has initialized"
expect "left" "$(lazy left)" "$before"
if has_lazy state; then
    mount -o remount,init_itable=200 "$FS"
else
    # The thread initializes one group before its first wait, which then lasts for hours.
    mount -o remount,init_itable=4294967295 "$FS"
    wait_until 10 at_least $((zeroed + 1))
fi
resize2fs "$DISK" 800M
sleep 0.5
expect_counts "grown by groups that it has not"
expect_that "left" "$(lazy left)" -gt "$before"
if has_lazy state; then expect "state" "$(lazy state)" paused; fi
let_go 0
wait_until 60 all_done
wait_until 2 state_is idle
expect_counts "all done"
# Growing the file system must start initialization again, although its earlier request has ended.
resize2fs "$DISK" 1000M
wait_until 60 all_done
expect_counts "all of it"
groups=$(lazy "done")
check_finished

say "without checksums nothing is left"
mke2fs -q -F -t ext4 -O ^metadata_csum,^uninit_bg -b 1024 "$DISK" 64M
mount -o ro "$DISK" "$FS"
expect "state" "$(lazy_state)" "idle 8 0"
umount "$FS"
