#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The code of a kernel tree decides the bundled captures of that kernel as it did when they were
# recorded; and what becomes of a tree that does not build, or whose allocator oopses or hangs.
#   test/guest/prove.sh TREE VERSION [DIR]   VERSION: as traces/MANIFEST has it (6.1.192, 7.3.4, ...);
#                                            DIR: where to build (default: build/guest)
# Needs build/release/tools/e4replay and what builds kernels (tools/setup.sh lab).
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# = 2 ] || [ $# = 3 ] || { sed -n 's/^#   test/usage: test/p' "$0" >&2; exit 2; }
tree=$(cd "$1" && pwd)
version=$2
dir=${3:-build/guest}
e4replay=$PWD/build/release/tools/e4replay
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
kernel=$dir/$version.uml
log=$dir/$version.log

die() {
    echo "prove.sh: $*" >&2
    exit 1
}

build() {
    "$e4replay" kernel build "$1" -o "$2" --build-dir "$dir/$version" --no-progress
}

# Two writers raced in fill-4k-enospc: no decider alone is right about it.
names() {
    awk -v version="$version" '$1 == "capture" && $4 == version && $2 != "fill-4k-enospc" { print $2 }' \
        traces/MANIFEST
}

image_of() {
    awk -v name="$1" '$1 == "capture" && $2 == name { print $3 }' traces/MANIFEST
}
trace_of() {
    find "$dir/captures" \( -name "$1.e4t*" -o -name "$1.trace*" \) -print -quit
}

# A tree of links with a mballoc.c of its own, which is always newer than what was built: as in TREE, or
# with one more line in the function that decides.
edited() {
    rm -rf "$dir/edited"
    mkdir -p "$dir/edited/fs/ext4"
    ln -s "$tree"/* "$dir/edited/" 2>/dev/null || true # but fs, which is there
    ln -s "$tree"/fs/* "$dir/edited/fs/" 2>/dev/null || true
    ln -s "$tree"/fs/ext4/* "$dir/edited/fs/ext4/"
    rm "$dir/edited/fs/ext4/mballoc.c"
    sed "/^ext4_fsblk_t ext4_mb_new_blocks(/,/might_sleep();/ s/might_sleep();/&${1:+\n\t$1}/" \
        "$tree/fs/ext4/mballoc.c" >"$dir/edited/fs/ext4/mballoc.c"
    [ $# = 0 ] || ! cmp -s "$tree/fs/ext4/mballoc.c" "$dir/edited/fs/ext4/mballoc.c" ||
        die "nothing was edited"
}

edited
build "$dir/edited" "$kernel"
count=0
for name in $(names); do
    tools/unpack_captures.sh "$dir/captures" "$name" >/dev/null
    "$e4replay" verify "$dir/captures/$(image_of "$name").img" "$(trace_of "$name")" -p "kernel:$kernel" --no-progress \
        >"$log" || { cat "$log"; die "$name: the code decides otherwise than it did"; }
    grep -E '^(identical|mb_groups|mb_stats)' "$log" | sed "s/^/$name: /"
    count=$((count + 1))
done
[ "$count" -gt 0 ] || die "no bundled capture is of $version"

# refused WORDS COMMAND...: it fails, with one line that has the words.
refused() {
    local status=0
    "${@:2}" >"$log" 2>&1 || status=$?
    [ "$status" = 1 ] && [ "$(wc -l <"$log")" = 1 ] && grep -q -- "$1" "$log" ||
        { cat "$log"; die "status $status; wanted one line with '$1'"; }
    sed 's/^/as it should: /' "$log"
}

first=$(names | sed -n 1p)
replay() {
    "$e4replay" replay "$dir/captures/$(image_of "$first").img" "$(trace_of "$first")" -p "kernel:$dir/edited.uml" --no-progress
}

edited 'this_is_no_c;'
cp "$kernel" "$dir/edited.uml"
refused 'does not build: .*mballoc.*this_is_no_c' build "$dir/edited" "$dir/edited.uml"
cmp "$kernel" "$dir/edited.uml"
edited 'BUG();'
build "$dir/edited" "$dir/edited.uml"
refused 'the kernel ended' replay
edited 'while (sb_rdonly(ar->inode->i_sb) == 0) cpu_relax();'
build "$dir/edited" "$dir/edited.uml"
E4R_GUEST_PATIENCE=3 refused 'has not answered for 3 s' replay
rm -rf "$dir/edited" "$dir/edited.uml"
echo "prove.sh: $count captures of $version decided by its own code as recorded; three bad trees refused"
