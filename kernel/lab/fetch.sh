#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Unpacks Debian's kernel source under $E4R_LAB/base as a git repository with one commit.
#
# Usage: fetch.sh [--again]
#   --again   start over, although a tree is there (after apt brought a newer one)
#
# kernel/PINS names the versions that the series were tested on; another one is a warning.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
package=linux-source-6.1
tarball=/usr/src/$package.tar.xz
again=0
for argument; do
    case $argument in
    --again) again=1 ;;
    *) usage ;;
    esac
done

pinned() {
    awk -v package="$package" '$1 == package { print $2 }' "$kernel_dir/PINS"
}

warn_unless_pinned() {
    pinned | grep -qxF "$1" ||
        note "warning: source is $1, the series were tested on $(pinned | paste -sd' ')"
}

unpack() {
    local tree=$1 version
    note "unpacking $tarball"
    rm -rf "$tree.new"
    mkdir -p "$tree.new"
    tar -xJf "$tarball" -C "$tree.new" --strip-components=1
    version=$(tree_version "$tree.new")
    printf 'O-*/\n' >"$E4R_LAB/exclude"
    git -C "$tree.new" init -q -b base
    git -C "$tree.new" config core.excludesFile "$E4R_LAB/exclude"
    git -C "$tree.new" config user.name lab
    git -C "$tree.new" config user.email lab@localhost
    git -C "$tree.new" config gc.auto 0
    # --force: the kernel's own .gitignore names files that the package ships.
    git -C "$tree.new" add -A --force .
    git -C "$tree.new" commit -q -m "Debian $package $version"
    mv "$tree.new" "$tree"
}

tree=$(tree_of base)
if [ "$again" = 1 ]; then rm -rf "$tree"; fi
if [ ! -d "$tree" ]; then
    [ -e "$tarball" ] || die "no $tarball: run tools/setup.sh lab"
    need git xz make
    unpack "$tree"
fi
version=$(tree_version "$tree")
warn_unless_pinned "$version"
echo "$version"
