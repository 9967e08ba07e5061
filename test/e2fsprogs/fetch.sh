#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Gets the Debian source of e2fsprogs through apt and builds it, once.
#   fetch.sh [--source] SUITE DIR      SUITE: bookworm (1.47.0), trixie (1.47.2)
# Leaves the source in DIR/src and the build in DIR/src/build; with --source, only the source. Does not change apt's own
# lists: the source lists of SUITE go to DIR/apt.
set -euo pipefail
build=1
[ "${1:-}" != --source ] || { build=; shift; }
suite=$1
dir=$(realpath -m "$2")
if [ -n "$build" ]; then
    [ ! -x "$dir/src/build/misc/mke2fs" ] || exit 0
else
    [ ! -e "$dir/src.complete" ] || exit 0
fi

mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/get"
# Use the mirror of bookworm in this machine's apt configuration.
# shellcheck source=test/mirror.sh
source "$(dirname "$0")/../mirror.sh"
uri=$(mirror)
echo "deb-src $uri $suite main" >"$dir/apt/sources.list"
apt=(apt-get -qq -o Dir::Etc::sourcelist="$dir/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
     -o Dir::State::lists="$dir/apt/lists" -o Dir::Cache="$dir/apt/cache"
     -o Dir::State::status="$dir/apt/status" -o APT::Sandbox::User=root)
: >"$dir/apt/status" # installed packages must not affect the version
echo "fetch.sh: source of e2fsprogs from Debian $suite" >&2
"${apt[@]}" update
# A mirror may lack the upstream signature of the tarball. It is not needed: apt has checked the .dsc against the signed
# index, and the .dsc has the checksums of the files that are used here.
(cd "$dir/get" && "${apt[@]}" source --download-only e2fsprogs) ||
    echo "fetch.sh: not every file of the source package came; those that did are checked" >&2
cd "$dir/get"
dsc=$(ls e2fsprogs_*.dsc)
awk '/^[A-Z]/ { part = /^Checksums-Sha256/ } part && NF == 3 { print $1 "  " $3 }' "$dsc" |
    grep -E '\.(orig\.tar\.gz|debian\.tar\.xz)$' | sha256sum --check --strict --quiet

rm -rf "$dir/src" "$dir/src.complete"
mkdir -p "$dir/src"
tar xf e2fsprogs_*.orig.tar.gz -C "$dir/src" --strip-components=1
tar xf e2fsprogs_*.debian.tar.xz -C "$dir/src"
cd "$dir/src"
if [ -f debian/patches/series ]; then
    grep -vE '^\s*(#|$)' debian/patches/series | while read -r name; do
        patch -p1 -s <"debian/patches/$name"
    done
fi
touch "$dir/src.complete"
[ -n "$build" ] || exit 0
mkdir build
cd build
echo "fetch.sh: building e2fsprogs $(cut -d' ' -f2 <<<"$(head -1 ../debian/changelog)")" >&2
../configure --disable-nls >configure.log 2>&1
make -j2 >make.log 2>&1
