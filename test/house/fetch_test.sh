#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests how `lab fetch` handles revisions of Debian's package, with a small tarball and a fake dpkg-query.
#   fetch_test.sh LAB
set -euo pipefail
lab=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export E4R_LAB=$work/lab E4R_TARBALL=$work/linux-source-6.1.tar.xz
unset GIT_DIR GIT_WORK_TREE

fail() {
    echo "fetch_test: $*" >&2
    exit 1
}

# Makes a tree whose Makefile has one target.
mkdir "$work/linux-source-6.1"
printf 'kernelversion:\n\t@echo 6.1.192\n' >"$work/linux-source-6.1/Makefile"
tar -C "$work" -cJf "$E4R_TARBALL" linux-source-6.1

# installed VERSION: makes a dpkg-query that reports this version.
mkdir "$work/bin"
PATH=$work/bin:$PATH
installed() {
    cat >"$work/bin/dpkg-query" <<TEXT
#!/bin/sh
case \$1 in
-S) [ "\$2" = "$E4R_TARBALL" ] && echo "${2:-linux-source-6.1}: \$2" ;;
-W) printf %s "$1" ;;
esac
TEXT
    chmod +x "$work/bin/dpkg-query"
}

# expect STATUS OUT ERR [ARGUMENTS]: runs `lab fetch`. Its standard output must be OUT. Its standard error must contain
# ERR, or be empty if ERR is "".
expect() {
    local status=0 out err
    out=$("$lab" fetch "${@:4}" 2>"$work/err") || status=$?
    err=$(grep -vE 'unpacking|copying' "$work/err" || true)
    [ $status = "$1" ] || fail "status $status, not $1: $err"
    [ "$out" = "$2" ] || fail "printed '$out', not '$2'"
    if [ -n "$3" ]; then
        grep -qF "$3" <<<"$err" || fail "said '$err', not '$3'"
    elif [ -n "$err" ]; then
        fail "said '$err'"
    fi
}

installed 6.1.192-1
expect 1 "" "lab fetch --again"
[ ! -e "$E4R_LAB/base" ] || fail "a refused source was unpacked"
installed 6.1.192-3
expect 0 6.1.192-3 "warning: source is 6.1.192-3, the lab was tested on 6.1.192-2"
# `lab fetch` must report the version that was unpacked, not one that was installed later.
installed 6.1.192-2
expect 0 6.1.192-3 "warning: source is 6.1.192-3"
expect 0 6.1.192-2 "" --again
expect 0 6.1.192-2 ""
installed 6.1.193-1
expect 1 "" "holds 6.1.192, not the 6.1.193-1" --again
installed 6.1.192-2 some-other-package
expect 1 "" "not of package linux-source-6.1" --again
installed 6.1.192-2
expect 0 6.1.192-2 "" --again
# Older versions of fetch.sh named the commit without a revision.
git -C "$E4R_LAB/base" commit -q --allow-empty -m "Debian linux-source-6.1 6.1.192"
expect 1 "" "lab fetch --again"
git -C "$E4R_LAB/base" commit -q --allow-empty -m "Debian linux-source-6.1 6.1.192-1"
expect 1 "" "NULL folio"

# Copy another kernel tree. Files that were built in it must not be copied.
mkdir -p "$work/old/fs/ext4" "$work/old/O-uml-plain" "$E4R_LAB/images"
printf 'kernelversion:\n\t@echo 5.10.265\n' >"$work/old/Makefile"
expect 1 "" "is not a kernel tree" --tree "$work/old"
touch "$work/old/fs/ext4/mballoc.c" "$work/old/O-uml-plain/linux"
expect 0 "5.10: Linux 5.10.265" "" --tree "$work/old"
{ [ -e "$E4R_LAB/5.10/fs/ext4/mballoc.c" ] && [ ! -e "$E4R_LAB/5.10/O-uml-plain" ]; } || fail "the copy is another tree"
printf 'kernelversion:\n\t@echo 5.10.266\n' >"$work/old/Makefile"
expect 0 "5.10: Linux 5.10.265" "" --tree "$work/old"
expect 0 "5.10: Linux 5.10.266" "" --tree "$work/old" --again
expect 0 "vendor: Linux 5.10.266" "" --tree "$work/old" --as vendor
expect 1 "" "is not a copied tree" --tree "$work/old" --as images --again
[ -d "$E4R_LAB/images" ] || fail "a directory of the lab was removed"
expect 1 "" "is the name of Debian's kernel" --tree "$work/old" --as 6.12
expect 1 "" "names a tree that --tree gives" --as vendor
expect 1 "" "is not a name of a series" --tree "$work/old" --as ../elsewhere
expect 2 "" "Usage" --tree

# Tests which options the kernel of a tree lacks.
cat >"$E4R_LAB/5.10/fs/ext4/super.c" <<'TEXT'
	{Opt_nodelalloc, "nodelalloc"}, {Opt_stripe, "stripe=%u"},
TEXT
echo '	ATTR_LIST(mb_stream_req),' >"$E4R_LAB/5.10/fs/ext4/sysfs.c"
lacks=$(bash -c '. "$1/lib/common.sh"; . "$1/lib/kinds.sh"
    lacking 5.10 rw nodelalloc stripe=16 mb_optimize_scan=1 mb_stream_req=4 mb_prefetch=1' - \
    "$(dirname "$lab")" | paste -sd' ')
[ "$lacks" = "mb_optimize_scan mb_prefetch" ] || fail "lacks '$lacks'"
