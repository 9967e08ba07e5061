#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Unpacks a root directory for guests of another architecture: a minimal Debian 12.
#
# Usage: root.sh [--target arm64] [--again]
#   --again   start over, even if the directory exists
#
# apt downloads packages from Debian's archive and checks them against its keys. The packages are unpacked under
# $E4R_LAB/root-arm64. They are not installed, and their scripts do not run. Guests of uml and qemu use the machine's
# own root.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/archive.sh
source "$lab_dir/lib/archive.sh"
target=arm64
again=0
while [ $# -gt 0 ]; do
    case $1 in
    --target) [ $# -ge 2 ] || usage
        target=$2 && shift ;;
    --again) again=1 ;;
    *) usage ;;
    esac
    shift
done
[ "$target" = arm64 ] || die "target '$target' needs no root of its own: only arm64 does"

# The packages with the programs that guest/init, guest/lib.sh and the jobs run. apt adds the packages' dependencies.
packages=(bash coreutils dash e2fsprogs findutils fsmark grep mawk mount procps sed util-linux)
root=$(root_of "$target")
store=$E4R_LAB/packages/root-$target

# Make apt assume that nothing is installed, and that the architecture is the target's.
foreign=(-o APT::Architecture="$target" -o APT::Architectures="$target"
    -o Dir::State::status="$store/status" -o Dir::Cache::Archives="$store/archives"
    -o Debug::NoLocking=1 --no-install-recommends)

download() {
    rm -rf "$store/archives"
    mkdir -p "$store/archives/partial"
    : >"$store/status"
    source_line "$(mirror_of bookworm E4R_DEBIAN)" bookworm >"$store/sources.list"
    update_archive "$store" "${foreign[@]}"
    archive "$store" "${foreign[@]}" -y --download-only install "${packages[@]}" >&2 ||
        die "Debian's archive has not all of: ${packages[*]}"
}

# The packages' scripts do not run, so make here the symbolic links that they would make.
unpack() {
    local into=$1 deb dir
    mkdir -p "$into"/usr/{bin,sbin,lib} "$into"/{dev,proc,sys,mnt,tmp,run,root}
    for dir in bin sbin lib; do ln -s "usr/$dir" "$into/$dir"; done
    for deb in "$store/archives"/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -xf - -C "$into" --keep-directory-symlink
    done
    ln -sf mawk "$into/usr/bin/awk"
    ln -sf /proc/mounts "$into/etc/mtab"
}

mkdir -p "$store"
if [ "$again" = 1 ] || [ ! -d "$root" ]; then
    need apt-get dpkg-deb tar
    note "downloading $target packages"
    download
    rm -rf "$root" "$root.new"
    unpack "$root.new"
    mv "$root.new" "$root"
    rm -rf "$store/archives"
fi
echo "$root"
