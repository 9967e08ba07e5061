#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Counts how often the set of direct writes in the series dio-overwrite wakes a thread, while 64 threads write. The
# kernel's code for the set runs in a user-space program (dio-set.c).
#   kernel/lab/experiments/dio-set.sh TREE...
# TREE is the path of a kernel tree with the series, as `lab apply` prints it. One run measures all trees, one after the
# other. Fails if two writes that must exclude each other overlap.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
[ $# -gt 0 ] || { sed -n 's/^#   kernel/usage: kernel/p' "$0" >&2 && exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tree; do
    sed -e '/^#include/d' -e '/^#if IS_/,$d' \
        -e 's/^\(\tstruct ext4_dio_fill \*other.*;\)$/\1\n\t__atomic_add_fetch(\&looks, 1, __ATOMIC_SEQ_CST);/' \
        "$tree/fs/ext4/dio.c" >"$work/core.c"
    name=$work/$(basename "$tree")
    gcc -O2 -w -pthread -DCORE="\"$work/core.c\"" -I "$tree/tools/include" -o "$name" \
        "$here/dio-set.c" "$tree/tools/lib/rbtree.c"
    (cd "$work" && "./$(basename "$tree")")
done
