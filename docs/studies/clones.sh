#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the table of docs/studies/clones.md: clones a disk image (reflink), mounts each clone in a guest, and
# counts the data that it no longer shares with the image.
#   clones.sh [--size 64G] [--clones 2] [--rows "ROW..."] [BUILD]
# Prints a line of JSON for each clone; clones.jq makes a Markdown table or a picture of them. Needs root, loop
# devices, an XFS of 16 GiB (sparse) in $TMPDIR, and the lab's kernels `base` and, for the rows of the series,
# `lazyinit-control` (kernel/docs/lab.md). BUILD: default build/release. Takes six minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
size=64G clones=2 build=build/release
rows="stock stock-zeroes full file finish probe old-probe noinit set series-probe old-series-probe series-paused"
while [ $# -gt 0 ]; do
    case $1 in
    --size) size=$2 && shift ;;
    --clones) clones=$2 && shift ;;
    --rows) rows=$2 && shift ;;
    -*) sed -n '/^#   clones/s/^#   /usage: /p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done

die() {
    echo "clones.sh: $*" >&2
    exit 1
}
[ "$(id -u)" = 0 ] || die "loop devices and mounts need root"
for tool in mkfs.xfs mke2fs filefrag losetup jq; do
    command -v "$tool" >/dev/null || die "no $tool (xfsprogs, e2fsprogs, mount, jq)"
done
[ -x "$build/tools/tune2fs-lazy" ] || die "no $build/tools/tune2fs-lazy: build it first"
lab=${E4R_LAB:-build/lab}
kernels=base
[[ $rows != *series* ]] || kernels+=" lazyinit-control"
for kernel in $kernels; do
    [ -x "$lab/$kernel/O-uml-plain/linux" ] ||
        die "no kernel $kernel: kernel/lab/lab fetch, apply lazyinit-control, build $kernel"
done

work=$(mktemp -d)
loop=
clean_up() {
    [ -z "$loop" ] || losetup -d "$loop" || true
    ! mountpoint -q "$work/xfs" || umount "$work/xfs" || true
    mountpoint -q "$work/xfs" || rm -rf "$work"
}
trap clean_up EXIT
mkdir "$work/xfs"

# new_store: makes an empty XFS.
new_store() {
    ! mountpoint -q "$work/xfs" || umount "$work/xfs"
    rm -f "$work/store"
    truncate -s 16G "$work/store"
    mkfs.xfs -q -m reflink=1 "$work/store"
    mount -o loop "$work/store" "$work/xfs" || die "cannot mount an XFS on a loop device here"
}

# Used bytes of the XFS.
in_use() {
    sync -f "$work/xfs"
    stat -f -c '%b %f %S' "$work/xfs" | awk '{ printf "%.0f\n", ($1 - $2) * $3 }'
}

# on_device COMMAND...: runs it with a block device of the image as last argument.
on_device() {
    loop=$(losetup -f --show "$work/xfs/image")
    "$@" "$loop" >&2
    losetup -d "$loop"
    loop=
}

# fill_tables DEVICE: writes old data to the tables of all groups without a used inode.
fill_tables() {
    local first last
    head -c 8M /dev/urandom >"$work/old"
    dumpe2fs "$1" 2>/dev/null | awk '
        /^Inodes per group:/ { all = $4 }
        /Inode table at/ { split($4, at, "-") }
        / unused inodes/ && $(NF - 2) == all { print at[1], at[2] + 0 }' |
        while read -r first last; do
            dd if="$work/old" of="$1" bs=4096 count=$((last - first + 1)) seek="$first" conv=notrunc status=none
        done
}

# make_image ROW: sets $image_bytes to the size of the image, and $late_bytes to the part added by tune2fs-lazy.
make_image() {
    local empty made
    new_store
    empty=$(in_use)
    truncate -s "$size" "$work/xfs/image"
    case $1 in
    file) mke2fs -q -F -t ext4 "$work/xfs/image" >&2 ;;
    full) on_device mke2fs -q -F -t ext4 -E lazy_itable_init=0 ;;
    *) on_device mke2fs -q -F -t ext4 -E lazy_itable_init=1 ;;
    esac
    case $1 in
    old-*) on_device fill_tables ;;
    esac
    made=$(in_use)
    case $1 in
    set) on_device "$build/tools/tune2fs-lazy" set noinit_itable ;;
    finish) on_device "$build/tools/tune2fs-lazy" finish --no-progress ;;
    probe | old-probe) on_device "$build/tools/tune2fs-lazy" finish --probe --no-progress ;;
    esac
    image_bytes=$(($(in_use) - empty)) late_bytes=$(($(in_use) - made))
}

# For a file: the bytes in extents that no other file shares, and how many of these hold no data (unwritten).
unshared() {
    filefrag -s -v -b4096 "$1" | awk -F: '
        /^ *[0-9]+:/ && !/shared/ { n += $4; if (/unwritten/) u += $4 }
        END { printf "[%.0f,%.0f]\n", n * 4096, u * 4096 }'
}

# boot_clone ROW: prints the figures of a guest that mounts the clone $clone.
boot_clone() {
    local how=(--no-trim) kernel=base
    case $1 in
    stock-zeroes) how=() ;;
    set) how+=(--set MOUNT=defaults) ;; # an option of the mount would go before it
    noinit) how+=(--set MOUNT=noinit_itable) ;;
    series-probe | old-series-probe) kernel=lazyinit-control how+=(--set CONTROL=probe=1) ;;
    series-paused) kernel=lazyinit-control how+=(--set CONTROL=state=pause) ;;
    esac
    kernel/lab/lab run lazyinit-clone --kernel $kernel --disk "$work/xfs/clone$clone" "${how[@]}"
}

build=$(realpath "$build")
for row in $rows; do
    make_image "$row"
    for ((clone = 1; clone <= clones; ++clone)); do
        cp --reflink=always "$work/xfs/image" "$work/xfs/clone$clone"
        before=$(in_use)
        boot_clone "$row" >"$work/figures"
        after=$(in_use)
        jq -cnR --arg row "$row" --argjson clone "$clone" --argjson image "$image_bytes" \
            --argjson late "$late_bytes" --argjson own "$(unshared "$work/xfs/clone$clone")" \
            --argjson allocated $((after - before)) '
            [inputs | split(" ") | select(.[0] != "kernel") | {(.[0]): .[1] | tonumber}] | add |
            {row: $row, clone: $clone, image_bytes: $image, late_bytes: $late, own_bytes: $own[0],
             unwritten_bytes: $own[1], allocated_bytes: $allocated} + .' "$work/figures"
    done
done
