#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Adds groups to a mounted file system while the lazyinit thread is ending, and counts the new inode tables that stay
# uninitialized. Reading one block bitmap takes five seconds, so that the resize happens while the thread waits for it.
# Run as root, on a loop device, or as a job of the lab on its disk. Needs dm-delay, perl, and no other file system that
# the thread works on.
#   kernel/lab/lab run kernel/reports/lazyinit-resize/lazyinit-resize.sh --kernel 7.3
# Exit status: 0 if all new tables are initialized when the thread has ended; 1 if some are not; 2 if the test could
# not run.
# disks: 512M
# timeout: 120
set -euo pipefail
work=$(mktemp -d)
fs=$work/fs
loop=
mkdir "$fs"
cleanup() {
    umount "$fs" 2>/dev/null || true
    dmsetup remove lazyinit-resize 2>/dev/null || true
    [ -z "$loop" ] || losetup -d "$loop"
    rm -r "$work"
}
trap cleanup EXIT
if [ -n "${DISKS:-}" ]; then
    disk=$DISKS
else
    truncate -s 512M "$work/image"
    loop=$(losetup -f --show "$work/image")
    disk=$loop
fi

# mke2fs initializes all tables. The bitmap of group 16 is not in the cache, because group 16 has the metadata of its
# flex_bg, and so must be read.
mke2fs -q -F -t ext4 -b 1024 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$disk" 256M
bitmap=$(dumpe2fs "$disk" 2>/dev/null | awk '/^Group 16:/ { here = 1 }
    here && /Block bitmap at/ && !n++ { print $4 + 0 }')
slow=$((bitmap * 2))
rest=$((slow + 2))
dmsetup create lazyinit-resize <<TEXT
0 $slow linear $disk 0
$slow 2 delay $disk $slow 5000 $disk $slow 0
$rest $(($(blockdev --getsz "$disk") - rest)) linear $disk $rest
TEXT
name=dm-$(dmsetup info -c --noheadings -o minor lazyinit-resize)
device=/dev/$name

# The thread reads all bitmaps in one batch before it looks for tables. It starts within five seconds of the remount.
mount -o ro "$device" "$fs"
echo 64 >"/sys/fs/ext4/$name/mb_prefetch"
mount -o remount,rw "$fs"
# While it waits for the bitmap, its state is D. dm-delay's device does not show the request as being in flight.
waiting=0 # for how many tenths of a second
for ((i = 0; i < 100 && waiting < 5; ++i)); do
    sleep 0.1
    thread=$(pgrep -x ext4lazyinit || true)
    if [ "$(awk '{ print $3 }' "/proc/${thread:-none}/stat" 2>/dev/null)" = D ]; then
        waiting=$((waiting + 1))
    else
        waiting=0
    fi
done
[ $waiting = 5 ] || { echo "the thread read no bitmap" >&2 && exit 2; }

# EXT4_IOC_RESIZE_FS, because resize2fs may read the same bitmap.
perl -e 'open(my $fs, "<", $ARGV[0]) or die; ioctl($fs, 0x40086610, pack("Q", $ARGV[1])) or die "resize: $!\n"' \
    "$fs" $((384 << 10)) || exit 2
for ((i = 0; i < 300; ++i)); do
    pgrep -x ext4lazyinit >/dev/null || break
    sleep 0.1
done
dumpe2fs "$device" 2>/dev/null | awk '
    /^Group [0-9]+:/ { groups++; if (!/ITABLE_ZEROED/) left++ }
    END {
        if (groups != 48) { print "the resize added " groups - 32 " groups, not 16"; exit 2 }
        print left + 0 " of 16 new inode tables are not initialized"
        exit left > 0
    }'
