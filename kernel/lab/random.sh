#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Draws kinds of captures with random geometry, tunables, mount options and workload. Takes a capture of each, and
# verifies it.
#
# Usage: random.sh [-n N] [--seed S] [--kernel base|SERIES] [-p POLICY] [-o DIR]
#   -n N      number of kinds (default: 5)
#   --seed S  seed of the first kind; later kinds use S+1, S+2, ... (default: from the clock; always printed)
#   --kernel, -p   as for agree.sh; a random kind only has mount options and knobs that the kernel supports
#   -o DIR    keeps the captures that disagree (default: $E4R_LAB/random)
#
# Prints agree.sh's table. Exit status 3 if a decision differs. In this case DIR/SEED.kind describes the random kind,
# and `E4R_KINDS=DIR/SEED.kind lab agree -o DIR random-SEED` repeats the capture.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"

count=5
seed=$(($(date +%s) % 1000000))
out=$E4R_LAB/random
tree=base
agree=()
while [ $# -gt 0 ]; do
    case $1 in
    -n) count=$2 && shift ;;
    --seed) seed=$2 && shift ;;
    -o) out=$2 && shift ;;
    --kernel) tree=$2 && agree+=(--kernel "$2") && shift ;;
    -p) agree+=(-p "$2") && shift ;;
    *) usage ;;
    esac
    shift
done
mkdir -p "$out"
note "seeds $seed to $((seed + count - 1))"

# draw SEED: prints a random kind for kinds.table.
draw() {
    awk -v seed="$1" -v tree="$tree" '
    function below(n) { return int(rand() * n) }
    function percent(p) { return rand() * 100 < p }
    function one_of(list,   words, n) { n = split(list, words, " "); return words[below(n) + 1] }
    function knob(name, list, p) { if (percent(p)) knobs = knobs " " name "=" one_of(list) }
    function option(text, p) { if (percent(p)) mount = mount "," text }
    BEGIN {
        srand(seed); for (i = 0; i < 10; ++i) rand()
        block = one_of("1024 2048 4096 4096")
        per_group = block * 8
        features = ""; mke2fs = ""; mount = "rw"; knobs = ""
        bigalloc = percent(20); indirect = !bigalloc && percent(15); journal = !percent(15)
        ratio = 1
        if (bigalloc) { ratio = one_of("4 16 16 32"); mke2fs = " -C " block * ratio; features = ",bigalloc" }
        if (indirect) features = features ",^extent,^64bit"
        else if (percent(15)) features = features ",^64bit"
        if (!journal) features = features ",^has_journal"
        if (percent(20)) features = features ",^flex_bg,^resize_inode"
        else if (percent(50)) mke2fs = mke2fs " -G " one_of("2 4 8 32 64")
        if (percent(15)) features = features ",^metadata_csum,^uninit_bg"
        if (percent(10) && !bigalloc) features = features ",^sparse_super,^resize_inode"
        if (percent(20) && !bigalloc) { per_group = one_of("2048 4096 8192"); mke2fs = mke2fs " -g " per_group }
        if (percent(25)) mke2fs = mke2fs " -E stride=" one_of("8 16 32") ",stripe_width=" one_of("16 32 64 48 128")
        if (percent(30)) {
            per_inode = one_of("8192 32768 262144")
            # A group cannot have more inodes than clusters.
            mke2fs = mke2fs " -i " (per_inode < block * ratio ? block * ratio : per_inode)
        }
        if (percent(20)) mke2fs = mke2fs " -I " one_of("128 512")
        groups = 3 + below(percent(50) ? 12 : 60)
        bytes = groups * per_group * block * ratio - below(per_group * 3 / 4) * block * ratio
        if (bytes < 64 * 1048576) bytes = 64 * 1048576
        option("nodelalloc", 50)
        option("mb_optimize_scan=" below(2), 35)
        option("no_prefetch_block_bitmaps", 20)
        option(one_of("noinit_itable init_itable=0 init_itable=10"), 40)
        option("stripe=" one_of("4 16 24 100"), 12)
        option("noauto_da_alloc", 15)
        option("dioread_lock", 10)
        if (journal) { option("data=journal", 8); option("commit=1", 15) }
        knob("mb_max_to_scan", "1 5 20 50 1000", 30)
        knob("mb_min_to_scan", "1 5 30 100", 25)
        knob("mb_order2_req", "0 1 3 5 8", 25)
        knob("mb_stream_req", "0 1 4 64 256", 25)
        knob("mb_group_prealloc", "8 64 100 256 1000", 25)
        knob("mb_max_inode_prealloc", "1 4 16", 25)
        knob("mb_max_linear_groups", "1 4 16", 30)
        knob("mb_prefetch", "1 4 16", 20)
        knob("mb_prefetch_limit", "1 4 64", 20)
        if (tree != "base") knob("mb_cr1_5_max_trim_order", "0 1 2 5 9", 40)
        mix = indirect ? "indirect" : one_of("basic holes direct append wide wide")
        largest = one_of("256K 1M 2M 4M 8M")
        files = one_of("50 200 400")
        # A workload may run out of space, but it should not spend most of its time waiting until a commit frees space.
        while (files > 10 && files * (largest + 0) * (largest ~ /M/ ? 1048576 : 1024) > 8 * bytes)
            files = int(files / 2)
        printf "kind random-%s\n  size %dK\n  mke2fs -b %d%s%s\n", seed, bytes / 1024, block,
            features == "" ? "" : " -O " substr(features, 2), mke2fs
        if (percent(80))
            printf "  fill --min-free 1 --max-free %d --min-used 1 --max-used %d --skip-percent %d\n",
                one_of("8 30 100 400 2000"), one_of("8 30 100 400"), percent(30) ? 30 : 0
        printf "  mount %s\n", mount
        if (knobs != "") printf "  knobs%s\n", knobs
        if (percent(30)) printf "  before churn --ops %d --files %d --max-size %s --mix %s\n",
            1000 + below(2000), files, largest, mix
        if (percent(20) && !indirect) printf "  run fill --rounds 2 --max-size %s\n", largest
        else printf "  run churn --ops %d --files %d --max-size %s --mix %s --small-percent %d\n",
            1500 + below(3000), files, largest, mix, below(100)
        # If space runs out with delayed allocation, the kernel itself starts writeback and becomes a second writer.
        if (mount !~ /nodelalloc|data=journal/) print "  writers 2"
        printf "  seeds %d%s\n", seed, percent(30) ? "w" : ""
    }'
}

lines=$(mktemp "$E4R_LAB/random.XXXXXX")
trap 'rm -f "$lines"' EXIT
worst=0
for ((i = 0; i < count; ++i)); do
    this=$((seed + i))
    kinds_table=$out/$this.kind
    draw $this >"$kinds_table"
    for word in $(lacking_of_kind "$tree" "random-$this"); do sed -E -i "s/[ ,]$word(=[^ ,]*)?//" "$kinds_table"; done
    status=0
    E4R_KINDS=$kinds_table "$lab_dir/agree.sh" "${agree[@]}" -o "$out" "random-$this" >"$out/$this.table" || status=$?
    sed -i '/^| \*\*/d' "$out/$this.table" # a single capture needs no row of totals
    if [ "$i" = 0 ]; then cat "$out/$this.table"; else tail -n +3 "$out/$this.table"; fi | tee -a "$lines"
    if [ $status = 0 ]; then rm -f "$out/random-$this-"* "$out/$this.kind" "$out/$this.table"; fi
    if [ $status -gt $worst ]; then worst=$status; fi
done
totals "$lines"
exit $worst
