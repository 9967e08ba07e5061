#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Unpacks a Debian kernel source as a git repository with one commit, or copies any other kernel tree into one.
#
# Usage: fetch.sh [--base 6.1|6.12|7.3] [--again]
#        fetch.sh --tree DIR [--as NAME] [--again]
#   --base    which kernel (default: 6.1). The tree of 6.1 is called "base", the others by number
#   --tree    copies the kernel sources in DIR; DIR itself stays unchanged
#   --as      the name of the copied tree in the lab (default: its release series, such as 5.10)
#   --again   start over even if the tree exists, for example after apt has installed a newer version
#
# 6.1 comes from the installed package linux-source-6.1 (tools/setup.sh lab). The others are downloaded from Debian's
# archive, and apt checks the archive's signatures. They are not installed. 6.12 comes from bookworm's security suite,
# 7.3 from trixie's backports, through the mirrors in the machine's apt configuration. $E4R_DEBIAN and
# $E4R_DEBIAN_SECURITY name other mirrors.
#
# kernel/PINS names the tested versions and the refused versions. A refused version is an error. A version that is in
# neither list causes a warning.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/archive.sh
source "$lab_dir/lib/archive.sh"
number=6.1
again=0
source=
name=
while [ $# -gt 0 ]; do
    case $1 in
    --base) [ $# -ge 2 ] || usage
        number=$2 && shift ;;
    --tree) [ $# -ge 2 ] || usage
        source=$2 && shift ;;
    --as) [ $# -ge 2 ] || usage
        name=$2 && shift ;;
    --again) again=1 ;;
    *) usage ;;
    esac
    shift
done
case " $debian_bases " in
*" $number "*) ;;
*) die "no base '$number': there are $debian_bases; for another kernel, give its sources: --tree DIR" ;;
esac
package=linux-source-$number

# commit_sources DIR SUBJECT: makes DIR a git repository with one commit of everything in it.
commit_sources() {
    printf 'O-*/\n' >"$E4R_LAB/exclude"
    git -C "$1" init -q -b base
    git -C "$1" config core.excludesFile "$E4R_LAB/exclude"
    git -C "$1" config user.name lab
    git -C "$1" config user.email lab@localhost
    git -C "$1" config gc.auto 0
    # --force is needed because the kernel's own .gitignore matches files that the package ships.
    git -C "$1" add -A --force .
    git -C "$1" commit -q -m "$2"
}

# ---- Copies of other trees (--tree).

if [ -n "$source" ]; then
    need git make tar
    { [ -e "$source/Makefile" ] && [ -e "$source/fs/ext4/mballoc.c" ]; } ||
        die "$source is not a kernel tree: it has no fs/ext4/mballoc.c. Check out a release there"
    version=$(tree_version "$source") || die "$source/Makefile does not tell its version"
    name=${name:-$(cut -d. -f1,2 <<<"$version")}
    tree=$(tree_of "$name")
    case " base $debian_bases " in
    *" $name "*) die "'$name' is the name of Debian's kernel: give another one with --as" ;;
    esac
    [ ! -e "$tree" ] || is_stock "$name" || die "$tree is not a copied tree: give another name with --as"
    if [ "$again" = 1 ] || [ ! -d "$tree" ]; then
        note "copying $source"
        rm -rf "$tree.new"
        mkdir -p "$tree.new"
        tar -cf - -C "$source" --exclude-vcs --exclude='./O-*' . | tar -xf - -C "$tree.new"
        commit_sources "$tree.new" "Linux $version"
        rm -rf "$tree"
        mv "$tree.new" "$tree"
    fi
    echo "$name: $(git -C "$tree" log -1 --format=%s base)"
    exit
fi
[ -z "$name" ] || die "--as names a tree that --tree gives"

# ---- 6.1: the installed package.

# Prints Debian's version, with its revision (6.1.192-2), of the installed package that owns $tarball.
installed_version() {
    local owner
    owner=$(dpkg-query -S "$tarball" 2>/dev/null | sed -n 's/:.*//p' | head -1)
    [ "$owner" = "$package" ] ||
        die "$tarball is not of package $package: its revision is unknown. Run tools/setup.sh lab"
    dpkg-query -W -f='${Version}' "$package"
}

# ---- The other Debian kernels: from a downloaded package.

archive_line() {
    local address suite
    case $number in
    6.12)
        address=$(mirror_of bookworm-security E4R_DEBIAN_SECURITY)
        suite=bookworm-security
        ;;
    7.3)
        address=$(mirror_of bookworm E4R_DEBIAN)
        suite=trixie-backports
        ;;
    esac
    source_line "$address" "$suite"
}

# Leaves the package's tarball in $tarball and prints its version.
download() {
    local store=$E4R_LAB/packages/$number deb
    mkdir -p "$store"
    archive_line >"$store/sources.list"
    note "downloading $package"
    update_archive "$store"
    rm -f "$store"/*.deb
    (cd "$store" && archive "$store" download "$package" >&2) || die "Debian's archive has no $package"
    deb=$(echo "$store/$package"_*.deb)
    dpkg-deb --fsys-tarfile "$deb" |
        tar -xf - -C "$store" --strip-components=3 "./usr/src/$package.tar.xz"
    dpkg-deb -f "$deb" Version
    rm -f "$deb"
}

# ---- All Debian kernels.

# Prints the version of the package from which a tree was unpacked. It is the last word of the commit's subject.
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

# check_version VERSION REMEDY: fails if kernel/PINS refuses the version. Warns if it does not name the version.
check_version() {
    local reason
    reason=$(awk -v package="$package" -v version="$1" '
        $1 == "refuse" && $2 == package && $3 == version {
            $1 = $2 = $3 = ""; sub(/^ +/, ""); print; exit }' \
        "$kernel_dir/PINS")
    [ -z "$reason" ] || die "$package $1 is refused: $reason. $2"
    pinned | grep -qxF "$1" ||
        note "warning: source is $1, the lab was tested on $(pinned | paste -sd' ')"
}

unpack() {
    local tree=$1 version=$2
    note "unpacking $tarball"
    rm -rf "$tree.new"
    mkdir -p "$tree.new"
    tar -xJf "$tarball" -C "$tree.new" --strip-components=1
    [ "$(tree_version "$tree.new")" = "${version%%-*}" ] ||
        die "$tarball holds $(tree_version "$tree.new"), not the $version of its package"
    commit_sources "$tree.new" "Debian $package $version"
    rm -rf "$tree"
    mv "$tree.new" "$tree"
}

tree=$(tree_of "$number")
if [ "$number" = 6.1 ]; then
    tree=$(tree_of base)
    tarball=${E4R_TARBALL:-/usr/src/$package.tar.xz}
    update="Install a newer one (apt-get update && apt-get install $package), then lab fetch --again"
else
    tarball=$E4R_LAB/packages/$number/$package.tar.xz
    update="Try lab fetch --base $number --again: Debian may have a newer one"
fi
if [ "$again" = 0 ] && [ -d "$tree" ]; then
    version=$(unpacked_version "$tree")
    check_version "$version" "$update"
elif [ "$number" = 6.1 ]; then
    [ -e "$tarball" ] || die "no $tarball: run tools/setup.sh lab"
    need git xz make
    version=$(installed_version)
    check_version "$version" "$update"
    unpack "$tree" "$version"
else
    need git xz make apt-get dpkg-deb
    version=$(download)
    check_version "$version" "$update"
    unpack "$tree" "$version"
    rm -f "$tarball"
fi
echo "$version"
