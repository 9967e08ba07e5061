#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Unpacks Debian's kernel source under $E4R_LAB/base as a git repository with one commit.
#
# Usage: fetch.sh [--again]
#   --again   start over, although a tree is there (after apt brought a newer one)
#
# kernel/PINS names the versions that the series were tested on; another one is a warning. Those
# that it refuses are an error.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
package=linux-source-6.1
tarball=${E4R_TARBALL:-/usr/src/$package.tar.xz}
again=0
for argument; do
    case $argument in
    --again) again=1 ;;
    *) usage ;;
    esac
done

# Debian's version, with its revision (6.1.192-2), of the installed package that $tarball is of.
packaged_version() {
    local owner
    owner=$(dpkg-query -S "$tarball" 2>/dev/null | sed -n 's/:.*//p' | head -1)
    [ "$owner" = "$package" ] ||
        die "$tarball is not of package $package: its revision is unknown. Run tools/setup.sh lab"
    dpkg-query -W -f='${Version}' "$package"
}

# The version that base/ was unpacked from: the last word of its commit's subject.
unpacked_version() {
    local version
    version=$(git -C "$1" log -1 --format=%s base)
    version=${version##* }
    [[ $version == *-* ]] ||
        die "$1 does not say which revision of $version it is: run lab fetch --again"
    echo "$version"
}

pinned() {
    awk -v package="$package" '$1 == package { print $2 }' "$kernel_dir/PINS"
}

# check_version VERSION REMEDY: fails on a refused one, warns about one that is not pinned.
check_version() {
    local reason
    reason=$(awk -v package="$package" -v version="$1" '
        $1 == "refuse" && $2 == package && $3 == version {
            $1 = $2 = $3 = ""; sub(/^ +/, ""); print; exit }' \
        "$kernel_dir/PINS")
    [ -z "$reason" ] || die "$package $1 is refused: $reason. $2"
    pinned | grep -qxF "$1" ||
        note "warning: source is $1, the series were tested on $(pinned | paste -sd' ')"
}

unpack() {
    local tree=$1 version=$2
    note "unpacking $tarball"
    rm -rf "$tree.new"
    mkdir -p "$tree.new"
    tar -xJf "$tarball" -C "$tree.new" --strip-components=1
    [ "$(tree_version "$tree.new")" = "${version%-*}" ] ||
        die "$tarball holds $(tree_version "$tree.new"), not the $version of its package"
    printf 'O-*/\n' >"$E4R_LAB/exclude"
    git -C "$tree.new" init -q -b base
    git -C "$tree.new" config core.excludesFile "$E4R_LAB/exclude"
    git -C "$tree.new" config user.name lab
    git -C "$tree.new" config user.email lab@localhost
    git -C "$tree.new" config gc.auto 0
    # --force: the kernel's own .gitignore names files that the package ships.
    git -C "$tree.new" add -A --force .
    git -C "$tree.new" commit -q -m "Debian $package $version"
    rm -rf "$tree"
    mv "$tree.new" "$tree"
}

update="Install a newer one (apt-get update && apt-get install $package), then lab fetch --again"
tree=$(tree_of base)
if [ "$again" = 0 ] && [ -d "$tree" ]; then
    version=$(unpacked_version "$tree")
    check_version "$version" "$update"
else
    [ -e "$tarball" ] || die "no $tarball: run tools/setup.sh lab"
    need git xz make
    version=$(packaged_version)
    check_version "$version" "$update"
    unpack "$tree" "$version"
fi
echo "$version"
