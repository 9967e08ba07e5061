#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds e4replay as one file that needs no file of the machine on which it runs: no library, no interpreter.
# The program runs on Linux 4.18 and newer.
#   tools/portable.sh [x86_64|aarch64]...    default: both
#   tools/portable.sh --check FILE           checks that FILE needs no other file to start, or prints what it needs
# The results are build/portable/e4replay-VERSION-x86_64 and -aarch64, stripped. The script prints their sizes and the
# parts that they lack. See docs/installing.md.
# Needs Debian 12 on amd64. Installs packages with tools/setup.sh. Libraries for aarch64 are only unpacked, below
# build/portable, but that needs root for apt's directories.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=test/foreign.sh
source test/foreign.sh
# shellcheck source=test/cached.sh
source test/cached.sh
dir=$PWD/build/portable
# Parts for which Debian has no static library, or which are of little use without a development machine.
left_out=(-DE4R_{PERFETTO,HUNT,BPF,PYTHON})

die() { echo "portable.sh: $*" >&2 && exit 1; }

# libraries ROOT: unpacks Debian's libraries for aarch64. The C library and libstdc++ come with the compiler.
libraries() {
    [ ! -e "$1.done" ] || return 0
    foreign "$dir/apt" arm64
    # CMake insists on libfmt9, though only headers of fmt are used.
    unpack "$1" comerr-dev libblkid-dev libboost-{container,json,system}1.81-dev libboost1.81-dev libcli11-dev libext2fs-dev \
        libfmt-dev libfmt9 libncurses-dev libsqlite3-dev libtraceevent-dev libtracefs-dev libzstd-dev zlib1g-dev
}

# configure MACHINE [CMAKE ARGUMENTS...]: configures a static build in $dir/MACHINE.
configure() {
    cmake -G Ninja -S . -B "$dir/$1" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DE4R_STATIC=ON \
        -DE4R_PRECOMPILED=ON -DE4R_RECORD=ON -DE4R_PAGE=ON "${left_out[@]/%/=OFF}" "${@:2}" >/dev/null
}

configure_x86_64() {
    tools/setup.sh build
    configure x86_64
}

configure_aarch64() {
    local root=$dir/aarch64.root
    tools/setup.sh build portable
    libraries "$root"
    export PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig
    export PKG_CONFIG_SYSROOT_DIR=$root
    configure aarch64 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
        -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
        -DCMAKE_LIBRARY_ARCHITECTURE=aarch64-linux-gnu -DCMAKE_FIND_ROOT_PATH="$root" \
        -DCMAKE_FIND_ROOT_PATH_MODE_{LIBRARY,INCLUDE,PACKAGE}=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER
}

# needs_nothing FILE: succeeds if the kernel can start FILE without an interpreter and without libraries.
needs_nothing() {
    local headers entries
    headers=$(readelf -lW "$1") || return
    entries=$(readelf -dW "$1") || return
    if grep -qw INTERP <<<"$headers" || grep -qw NEEDED <<<"$entries"; then
        grep -hE 'INTERP|NEEDED' <<<"$headers$entries" >&2
        return 1
    fi
}

# build MACHINE: builds e4replay for MACHINE and strips it.
build() {
    local version result prefix=
    ("configure_$1") # in a subshell, because it exports settings for pkg-config
    cmake --build "$dir/$1" -j2 --target e4replay >"$dir/$1.log" 2>&1 || {
        tail -30 "$dir/$1.log" >&2
        die "e4replay for $1 does not build: $dir/$1.log"
    }
    version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$dir/$1/CMakeCache.txt")
    result=$dir/e4replay-$version-$1
    [ "$1" = "$(uname -m)" ] || prefix=$1-linux-gnu-
    "${prefix}strip" -o "$result" "$dir/$1/tools/e4replay"
    needs_nothing "$result" || die "$result needs other files"
    echo "$result: $(stat -c %s "$result") bytes, without $(sed -n 's/.* "\(.*\)"$/\1/p' "$dir/$1/commit/left_out.h")"
}

if [ $# = 2 ] && [ "$1" = --check ]; then
    needs_nothing "$2" || die "$2 needs other files"
    exit
fi
machines=()
for machine; do
    case $machine in
    x86_64 | aarch64) machines+=("$machine") ;;
    *) sed -n 's/^#   tools/usage: tools/p' "$0" >&2 && exit 2 ;;
    esac
done
[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || die "needs Debian 12 on amd64"
[ ${#machines[@]} -gt 0 ] || machines=(x86_64 aarch64)
mkdir -p "$dir"
for machine in "${machines[@]}"; do build "$machine"; done
