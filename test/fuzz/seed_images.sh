#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fills a directory with tiny images, one for each layout of a file system.
set -euo pipefail
out=$1
PATH=$PATH:/usr/sbin:/sbin

# image NAME KIB OPTIONS...: makes an image with these options of mke2fs.
image() {
    local path=$out/$1 kib=$2
    shift 2
    rm -f "$path"
    truncate -s "${kib}K" "$path"
    mke2fs -q -F -U 6a1c9e37-5f0d-4b7e-9a55-c0ffee4e4e4e -N 16 -E nodiscard "$@" "$path"
}

small=^has_journal,^resize_inode
image ext4 256 -t ext4 -b 1024 -g 256 -O "$small"
image uninit_bg 256 -t ext4 -b 1024 -g 256 -O "$small,^metadata_csum,uninit_bg,^64bit"
image plain 256 -t ext4 -b 1024 -g 256 -O "$small,^metadata_csum,^uninit_bg"
image no_flex 512 -t ext4 -b 1024 -g 256 -O "$small,^metadata_csum,^flex_bg"
image meta_bg 512 -t ext4 -b 1024 -g 256 -O "$small,^metadata_csum,meta_bg"
image sparse_super2 512 -t ext4 -b 1024 -g 256 -O "$small,^metadata_csum,sparse_super2"
image bigalloc 512 -t ext4 -b 1024 -C 2048 -O "$small,^metadata_csum,bigalloc"
image ext2 64 -t ext2 -b 1024 -O ^resize_inode
image ext2_4k 256 -t ext2 -b 4096 -O ^resize_inode
