#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests `lab fetch` and revisions of Debian's package, with a small tarball and a fake dpkg-query.
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

# A tree whose Makefile has one target.
mkdir "$work/linux-source-6.1"
printf 'kernelversion:\n\t@echo 6.1.192\n' >"$work/linux-source-6.1/Makefile"
tar -C "$work" -cJf "$E4R_TARBALL" linux-source-6.1

# installed VERSION: makes a dpkg that reports this version.
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

# expect STATUS OUT ERR [ARGUMENTS]: OUT is the whole stdout, ERR a part of stderr ("" for silence).
expect() {
    local status=0 out err
    out=$("$lab" fetch "${@:4}" 2>"$work/err") || status=$?
    err=$(grep -v 'unpacking' "$work/err" || true)
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
# The unpacked version counts, not a version installed later.
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
# The commit name of older versions of fetch.sh, without revisions.
git -C "$E4R_LAB/base" commit -q --allow-empty -m "Debian linux-source-6.1 6.1.192"
expect 1 "" "lab fetch --again"
git -C "$E4R_LAB/base" commit -q --allow-empty -m "Debian linux-source-6.1 6.1.192-1"
expect 1 "" "NULL folio"
