#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks the code of a kernel tree. In a replay of the bundled captures of that kernel, the code must make the recorded
# decisions, and must lock the same groups as the model in the same order. Ageing and a sweep must give the same results
# as the model. e4replay must refuse a tree that does not build, or whose allocator oopses or hangs.
#   test/guest/prove.sh TREE VERSION [DIR]   VERSION: the version of the tree (6.1.192, 7.3.4, ...). Its stable
#                                            series selects the captures in traces/MANIFEST. DIR: where to
#                                            build (default: build/guest)
# Needs build/release (with tests) and the tools to build kernels (tools/setup.sh lab).
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# = 2 ] || [ $# = 3 ] || { sed -n 's/^#   test/usage: test/p' "$0" >&2; exit 2; }
tree=$(cd "$1" && pwd)
version=$2
dir=${3:-build/guest}
e4replay=$PWD/build/release/tools/e4replay
step_costs=$PWD/build/release/test/guest/step_costs
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
kernel=$dir/$version.uml
log=$dir/$version.log

die() {
    echo "prove.sh: $*" >&2
    exit 1
}
for program in "$e4replay" "$step_costs"; do
    [ -x "$program" ] || die "no $program: build the release preset with its tests"
done

build() {
    "$e4replay" kernel build "$1" -o "$2" --build-dir "$dir/$version" --no-progress
}

# shellcheck source=test/guest/captures.sh
source test/guest/captures.sh

names() {
    captures_of "index(\$4, \"${version%.*}.\") == 1 && \$4 !~ /[+]/"
}

# edited [LINE]: makes a tree of links to the files of the tree, except for mballoc.c. That file is a copy, with LINE
# added to the function that decides. The copy is newer than all build products, so the kernel is built again.
edited() {
    rm -rf "$dir/edited"
    mkdir -p "$dir/edited/fs/ext4"
    ln -s "$tree"/* "$dir/edited/" 2>/dev/null || true # fails for fs, which exists
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
case $version in
6.1.*) model=legacy ;;
6.12.*) model=linux-6.12 ;;
*) model=linux-7.3 ;;
esac
count=0
for name in $(names); do
    unpack "$name"
    "$e4replay" verify "$image" "$trace" -p "kernel:$kernel" --no-progress \
        >"$log" || { cat "$log"; die "$name: the code decides otherwise than it did"; }
    grep -E '^(identical|mb_groups|mb_stats)' "$log" | sed "s/^/$name: /"
    count=$((count + 1))
    # step_costs cannot handle the second writer in fill-4k-enospc.
    [ "$name" != fill-4k-enospc ] || continue
    "$step_costs" "$kernel" $model "$image,$trace" >"$log" ||
        { cat "$log"; die "$name: the model and the code lock different groups"; }
    sed -n "s/.*requests lock/$name: &/p" "$log"
done
[ "$count" -gt 0 ] || die "no bundled capture is of $version"

# Several processes wrote in these captures. mb_groups may differ, because a recording does not show at which cluster
# the kernel's first search of a group begins. When postgres-6.18 began, files and CPUs had preallocations. Some
# searches of ring-6.18 saw one group before a change and another group after it.
case $version in
7.3.*) several='postgres-6.18\|ring-6.18' ;;
*) several=storm-${version%.*} ;;
esac
for name in $(recorded_captures | grep -x "$several"); do
    "$e4replay" verify "traces/$name.e4c" -p "kernel:$kernel" --no-progress >"$log" || [ $? = 3 ] ||
        { cat "$log"; die "$name: cannot be decided"; }
    grep -q '^identical .*100\.000 %' "$log" || { cat "$log"; die "$name: the code decides otherwise than it did"; }
    grep -E '^(identical|a locked group)' "$log" | sed "s/^/$name: /"
done

# Prints the contents of an image without times.
contents() {
    dumpe2fs "$1" 2>/dev/null | grep -vE '^(Last write time|Checksum):'
}
aged=0
for block_size in 1024 4096; do
    image=$dir/start-$block_size.img
    truncate -s 600M "$image"
    mke2fs -q -F -t ext4 -b $block_size -E nodiscard,lazy_itable_init=1 "$image"
    for writing in delalloc nodelalloc; do
        for policy in "$model" "kernel:$kernel"; do
            "$e4replay" age "$image" --no-progress --until 'utilisation 0.85, turnover 1x' \
                --writing $writing -p "$policy" -o "$dir/${policy%%:*}.img" --json "$dir/${policy%%:*}.json" >"$log"
        done
        cmp <(contents "$dir/$model.img") <(contents "$dir/kernel.img") ||
            die "aged by $model and by its code, $block_size, $writing: other blocks are free"
        # shellcheck disable=SC2016 # a jq program
        requests=$(jq '.age.requests' "$dir/kernel.json")
        [ "$(jq '.age | del(.policy, .elapsed_s)' "$dir/$model.json")" = \
            "$(jq '.age | del(.policy, .elapsed_s)' "$dir/kernel.json")" ] ||
            die "aged by $model and by its code, $block_size, $writing: other figures"
        echo "aged, $block_size, $writing: $requests requests decided as by $model"
        aged=$((aged + requests))
    done
    rm -f "$image"
done
rm -f "$dir/$model".{img,json} "$dir"/kernel.{img,json}

first=$(names | sed -n 1p)
unpack "$first"
rm -rf "$dir/sweep"
"$e4replay" sweep "$image:$trace" -p "$model,kernel:$kernel" --set mb_max_to_scan=20,200 --set mb_order2_req=2,4 \
    -o "$dir/sweep" --no-progress >"$log"
# This filter leaves out the figures that may differ between code and model. Only the code uses guessed file sizes and
# numbers of writers.
# shellcheck disable=SC2016 # a jq program
other=$(jq -rs '
    map(del(.point, .crc, .decision_ns, .elapsed_s, .guessed_sizes, .guessed_writers))
    | map(select(.policy | startswith("kernel:") | not) | del(.policy)) as $model
    | map(select(.policy | startswith("kernel:")) | del(.policy)) as $code
    | if ($model | length) != 4 or ($code | length) != 4 then error("not four points each") else . end
    | [range(4) as $i | $code[$i] | paths(scalars) as $p
       | select(getpath($p) != ($model[$i] | getpath($p))) | $p | join("/")] | unique[]' "$dir/sweep/points.jsonl")
[ -z "$other" ] || die "a sweep by $model and by its code: other figures: $other"
rm -rf "$dir/sweep"
echo "sweep: 4 points of $first as by $model"

# refused WORDS COMMAND...: fails unless the command fails with one line that contains WORDS.
refused() {
    local status=0
    "${@:2}" >"$log" 2>&1 || status=$?
    [ "$status" = 1 ] && [ "$(wc -l <"$log")" = 1 ] && grep -q -- "$1" "$log" ||
        { cat "$log"; die "status $status; wanted one line with '$1'"; }
    sed 's/^/as it should: /' "$log"
}

replay() {
    "$e4replay" replay "$image" "$trace" -p "kernel:$dir/edited.uml" --no-progress
}

edited 'this_is_no_c;'
cp "$kernel" "$dir/edited.uml"
refused 'does not build: .*mballoc.*this_is_no_c' build "$dir/edited" "$dir/edited.uml"
cmp "$kernel" "$dir/edited.uml"
edited 'BUG();'
build "$dir/edited" "$dir/edited.uml"
refused 'the kernel failed: .*BUG: failure at .*ext4_mb_new_blocks' replay
edited 'while (sb_rdonly(ar->inode->i_sb) == 0) cpu_relax();'
build "$dir/edited" "$dir/edited.uml"
E4R_GUEST_PATIENCE=3 refused 'has not answered for 3 s .* the kernel is in ext4_mb_new_blocks+' replay

# When e4replay ends for any reason, its guests must end, too, even a guest that hangs.
guests() {
    pgrep -f "^$dir/($version|edited).uml "
}
"$e4replay" replay "$image" "$trace" \
    -p "kernel:$kernel,kernel:$dir/edited.uml" --threads 2 --no-progress >"$log" 2>&1 &
pid=$!
waited() {
    local tries
    for ((tries = 0; tries < 300; tries++)); do
        "$@" && return
        sleep 0.1
    done
    return 1
}
hangs() { pgrep -f "^$dir/edited.uml " >/dev/null; }
waited hangs || die "no guest has begun"
sleep 1
kill -KILL $pid
wait $pid || true
none() { ! guests >/dev/null; }
waited none || die "guests outlive e4replay: $(guests | xargs)"
rm -rf "$dir/edited" "$dir/edited.uml"
echo "prove.sh: $count captures of $version decided by its own code as recorded, $aged requests of ageing as by" \
    "$model; three bad trees refused"
