#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests the lazyinit thread of this machine's kernel on a file system whose groups have 6,936 inodes, which fill
# 433.5 blocks. Needs root, a loop device, a C compiler and libext2fs-dev.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'umount "$work/mnt" 2>/dev/null || :; rm -rf "$work"' EXIT
cd "$work"
mkdir mnt
cc -o take-inodes "$here/take-inodes.c" -lext2fs -lcom_err

# make FILE: makes a file system whose tables are full of old bytes, except the first block of group 0. Leaves the first
# and last block of each table in the file `tables`.
make() {
    rm -f "$1"
    truncate -s 650M "$1"
    mke2fs -q -t ext4 -F -b 4096 -I 256 -N 41664 -O ^resize_inode,^flex_bg \
        -E nodiscard,lazy_itable_init=1 "$1" 2>/dev/null
    ./take-inodes "$1" 8
    dumpe2fs "$1" 2>/dev/null | sed -n 's/.*Inode table at \([0-9]*\)-\([0-9]*\).*/\1 \2/p' >tables
    local skip=1 first last
    while read -r first last; do
        dd if=/dev/urandom of="$1" bs=4096 seek=$((first + skip)) count=$((last - first + 1 - skip)) \
            conv=notrunc status=none
        skip=0
    done <tables
}

flags() {
    dumpe2fs "$1" 2>/dev/null | grep -c ITABLE_ZEROED || :
}

echo "-- all tables, then their last blocks"
make a.img
e2fsck -fn a.img >/dev/null 2>&1 && echo "e2fsck -fn before: clean"
mount -o loop,init_itable=0 a.img mnt
sleep 8
umount mnt
echo "groups flagged ITABLE_ZEROED: $(flags a.img)"
while read -r first last; do
    dd if=a.img bs=4096 skip="$last" count=1 status=none | tr -d '\0' | wc -c
done <tables | awk '$1 { n++ } END { print "last blocks that are not zero: " n + 0 }'

echo "-- a group without unused inodes"
make b.img
./take-inodes b.img 0
e2fsck -fn b.img >/dev/null 2>&1 && echo "e2fsck -fn before: clean"
mount -o loop,init_itable=0 b.img mnt
sleep 8
umount mnt
dmesg | grep "ext4_init_inode_table" | tail -n 1 || :
dumpe2fs -h b.img 2>/dev/null | grep "Filesystem state"
