#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Holds the model against the code of a kernel without any recording: random file systems, on which both
# decide the same random life. Where they part, the shortest life that parts is printed, which --case takes.
#   test/guest/random.sh TREE|FILE [--decisions N] [--seed N] [--case FILE] [...]
# TREE: a kernel tree, which is built in build/guest (E4R_GUEST_DIR); FILE: what `e4replay kernel build` has
# made. The rest is for guest_random, which lists it. Needs build/release with its tests; a tree needs what
# builds kernels (tools/setup.sh lab).
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
