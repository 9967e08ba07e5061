#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the model with the code of a kernel. Needs no recording: both execute the same random operations on random
# file systems. If their decisions differ, prints the shortest sequence of operations that shows the difference. --case
# runs such a sequence again.
#   test/guest/random.sh TREE|FILE [--decisions N] [--seed N] [--case FILE] [...]
# TREE: a kernel tree, which is built in build/guest (E4R_GUEST_DIR). FILE: a kernel made by `e4replay kernel build`.
# Other options are passed to guest_random, whose usage lists them. Needs build/release with its tests; a tree also
# needs the tools to build kernels (tools/setup.sh lab).
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || { sed -n 's/^#   test/usage: test/p' "$0" >&2; exit 2; }
what=$1
shift
if [ -d "$what" ]; then
    dir=${E4R_GUEST_DIR:-build/guest}
    version=$(make -s -C "$what" kernelversion)
    mkdir -p "$dir"
    kernel=$dir/$version-tree.uml
    build/release/tools/e4replay kernel build "$what" -o "$kernel" --build-dir "$dir/$version-tree" --no-progress
else
    kernel=$what
fi
exec build/release/test/guest/random/guest_random "$kernel" "$@"
