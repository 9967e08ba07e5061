#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compiles mke2fs-lazy and tune2fs-lazy for s390x, a big-endian machine, runs them under qemu-user, and compares them
# with the tools in BUILD. Images, output and exit statuses must be the same, and e2fsck must find no error. Both use
# this machine's mke2fs, tune2fs and e2fsck.
#   test/s390x.sh [BUILD]    default: build/release, which must have the two tools
# Packages (a compiler, qemu, and Debian's libraries for s390x; 150 MB) are unpacked under build/s390x and not
# installed. Needs Debian 12 on amd64, and root for apt's directories.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=test/foreign.sh
source test/foreign.sh
case ${1:-} in -*) sed -n 's/^#   test/usage: test/p' "$0" >&2 && exit 2 ;; esac
native=$(realpath "${1:-build/release}")
dir=$PWD/build/s390x
host=$dir/host root=$dir/root
mkdir -p "$dir"

fetch() {
    local names
    if [ ! -e "$host.done" ]; then
        names=$(with_dependencies g++-12-s390x-linux-gnu qemu-user-static)
        # shellcheck disable=SC2086 # word splitting is intended
        unpack "$host" $names
    fi
    [ ! -e "$root.done" ] || return 0
    foreign "$dir/apt" s390x
    names=$(with_dependencies libext2fs-dev comerr-dev libblkid-dev libfmt-dev libboost1.81-dev \
        libboost-json1.81-dev libcli11-dev libc6-dev libstdc++-12-dev)
    # shellcheck disable=SC2086
    unpack "$root" $names
}

# compile NAME FILE...: compiles all files together into one object.
compile() {
    local name=$1 file
    shift
    for file in "$@"; do echo "#include \"$PWD/$file\""; done >"$dir/$name.cc"
    "${cross[@]}" -c "$dir/$name.cc" -o "$dir/$name.o"
}

# link PROGRAM OBJECT...: links a program for s390x.
link() {
    local program=$1
    shift
    "${cross[@]}" -o "$dir/$program" "${@/%/.o}" \
        "-Wl,-rpath-link,$root/usr/lib/s390x-linux-gnu:$root/lib/s390x-linux-gnu" \
        -lboost_json -lfmt -lext2fs -lcom_err -lblkid
}

build() {
    local at
    cross=(env "LD_LIBRARY_PATH=$host/usr/lib/x86_64-linux-gnu" "PATH=$host/usr/bin:$PATH"
           "$host/usr/bin/s390x-linux-gnu-g++-12" "--sysroot=$root" "-B$host/usr/bin/s390x-linux-gnu-"
           -std=c++20 -O1 -w -DFMT_SHARED '-DE4R_VERSION="s390x"' "-I$dir" -Isrc -Iinclude -Itools -nostdinc++
           "-L$root/usr/lib/s390x-linux-gnu" "-L$root/lib/s390x-linux-gnu"
           "-L$root/usr/lib/gcc/s390x-linux-gnu/12")
    for at in c++/12 s390x-linux-gnu/c++/12 s390x-linux-gnu . ext2fs et blkid; do
        cross+=(-isystem "$root/usr/include/$at")
    done
    echo '#define E4R_COMMIT ""' >"$dir/commit.h"
    echo '#define E4R_LEFT_OUT ""' >"$dir/left_out.h"
    compile util src/util/*.cc src/ext4/*.cc src/json/*.cc
    compile image src/image/*.cc
    compile lazyinit src/lazyinit/*.cc
    compile common tools/common/{child,guarded,native,stop,version}.cc
    compile completion tools/common/completion{,_shells}.cc
    compile commands tools/common/{command_line,completion_options,command}.cc
    compile mke2fs-lazy-own tools/mke2fs-lazy/*.cc
    compile tune2fs-lazy-own tools/tune2fs-lazy/*.cc
    local shared=("$dir"/{util,image,lazyinit,common,completion})
    link mke2fs-lazy "$dir/mke2fs-lazy-own" "${shared[@]}"
    link tune2fs-lazy "$dir/tune2fs-lazy-own" "$dir/commands" "${shared[@]}"
}

# in_dir SIDE COMMAND...: runs the command in the directory SIDE, and writes its output and exit status to SIDE.out.
in_dir() {
    local side=$1 status=0
    shift
    (cd "$dir/$side" && "$@") >"$dir/$side.out" 2>&1 || status=$?
    echo "status $status" >>"$dir/$side.out"
}

# both NAME ARGUMENT...: runs the same command on two copies of an image, in two directories, and compares the results.
both() {
    local name=$1 side
    shift
    in_dir little "$native/tools/$name" "$@"
    in_dir big "$host/usr/bin/qemu-s390x-static" -L "$root" "$dir/$name" "$@"
    for side in little big; do
        # Ignore the allocated size of a file, because it can depend on the file's place on the disk.
        sed -i '/allocated of the/d' "$dir/$side.out"
    done
    if ! diff -u "$dir/little.out" "$dir/big.out" || ! cmp "$dir/little/disk" "$dir/big/disk"; then
        echo "s390x.sh: $shape: $name $* differs" >&2
        exit 1
    fi
    steps=$((steps + 1))
}

# clean: fails if e2fsck finds an error.
clean() {
    if ! e2fsck -fn "$dir/big/disk" >"$dir/e2fsck.out" 2>&1; then
        cat "$dir/e2fsck.out" >&2
        echo "s390x.sh: $shape: e2fsck is not content" >&2
        exit 1
    fi
}

# start: makes two equal image files full of old data.
start() {
    local side
    openssl enc -aes-128-ctr -nosalt -pass pass:old -in /dev/zero 2>/dev/null | head -c 67108864 >"$dir/old" || true
    for side in little big; do
        rm -rf "${dir:?}/$side"
        mkdir "$dir/$side"
        cp "$dir/old" "$dir/$side/disk"
    done
}

compare() {
    shape=$1
    shift
    local mode
    for mode in lazy probe write prezeroed; do
        start
        both mke2fs-lazy -U 7f1c2a30-0000-4000-8000-000000000001 -E "hash_seed=7f1c2a30-0000-4000-8000-000000000002" \
            -E "itable_init=$mode,init_itable=7" -L old "$@" disk
        [ "$mode" = prezeroed ] || clean
        both tune2fs-lazy status --json disk
        both tune2fs-lazy verify disk
    done
    both tune2fs-lazy rearm disk
    both tune2fs-lazy finish --undo undo disk
    [ ! -e "$dir/little/undo" ] || cmp "$dir/little/undo" "$dir/big/undo"
    both tune2fs-lazy verify disk
    both tune2fs-lazy set noinit_itable disk
    both tune2fs-lazy status --groups disk
    clean
    e2fsck -fy "$dir/little/disk" >"$dir/e2fsck.out" 2>&1 || true
    cp "$dir/little/disk" "$dir/big/disk"
    both tune2fs-lazy disable disk
    clean
    both tune2fs-lazy enable --probe disk
    clean
    both tune2fs-lazy enable --feature metadata_csum disk
    clean
    both tune2fs-lazy verify disk
}

fetch
build
export E2FSPROGS_FAKE_TIME=1700000000 E2FSPROGS_UNDO_DIR=none LC_ALL=C E4R_SEED=1
steps=0
compare default -t ext4
compare small-blocks -t ext4 -b 1024 -g 8192
compare uninit_bg -t ext4 -O ^metadata_csum,uninit_bg
compare 32-bytes -t ext4 -b 1024 -O ^64bit
compare meta_bg -t ext4 -b 1024 -O meta_bg,^resize_inode
compare orphan_file -t ext4 -O orphan_file
compare ext3 -t ext3
echo "s390x.sh: $steps commands did the same on s390x as here"
