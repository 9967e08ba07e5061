#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Computes the effect of the allocator's knobs by replaying captures of one kernel. The knobs choose between order lists
# and walking through the groups, the number of groups to walk first, how far goals are trimmed, and the number of
# stream goals.
#
# Usage: knobs.sh [--kernel TREE] [--seed N] [--again] [-o DIR] [--into FILE] [TABLE...]
#   --kernel TREE   kernel of the captures (default: base)
#   --seed N        default: 1w; "Nw" means that mb_groups is read first
#   --into FILE     also puts each table between "<!-- knobs TABLE -->" and "<!-- end -->" of FILE
#   TABLE           lists, walk, trim, streams (default: all)
#
# Prints Markdown tables. A cell shows "groups considered / extents scanned / free extents at the end". The table
# "streams" also shows the extents of all files.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
# shellcheck source=kernel/lab/lib/figures.sh
source "$lab_dir/lib/figures.sh"

tree=base
wanted=()
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    -*) common_option "$@" && shift $((words - 1)) ;;
    *) wanted+=("$1") ;;
    esac
    shift
done
[ ${#wanted[@]} -gt 0 ] || wanted=(lists walk trim streams)
prepare_captures

# With --again, take each capture again only once.
declare -A taken=()
capture() {
    [ -n "${taken[$1]:-}" ] || taken[$1]=$(take "$1" "$tree")
    name=${taken[$1]}
}

# cells POLICY,... NAME=VALUE...: replays the capture $name and prints " figures |" for each policy. $cell is the jq
# expression for the figures of a replay.
cells() {
    local policies=$1 set=()
    shift
    for knob; do set+=(--set "$knob"); done
    "$(project_build)/tools/e4replay" replay "$out/$name.img" "$out/$name.trace.zst" -p "$policies" \
        "${set[@]}" --no-progress --json - | jq -rj ".runs[] | \" \\($cell) |\""
}
cell='.groups_considered) / \(.mb_stats.extents_scanned) / \(.free_extents.count'

everywhere=(posting midfrag smallfiles problem3 posting-1k posting-bigalloc many-small aged enospc
    4k-delalloc)

header() {
    echo "$1"
    echo "$1" | sed 's/[^|]*/---/g; s/^---|/|/; s/|---$/|/'
}

lists() {
    local kind value
    header "| kind | mb_optimize_scan | 6.1 | 6.1 with the series | 6.12 | 7.3 |"
    for kind in "${everywhere[@]}"; do
        capture "$kind"
        for value in 1 0; do
            echo "| $kind | $value |$(cells legacy,cr1.5,linux-6.12,linux-7.3 "mb_optimize_scan=$value")"
        done
    done
}

walk() {
    local kind value
    header "| kind | mb_max_linear_groups | 6.1 | 6.1 with the series | 6.12 | 7.3 |"
    for kind in posting posting-1k many-small aged 4k-delalloc; do
        capture "$kind"
        for value in 0 4 16 64; do
            echo "| $kind | $value |$(cells legacy,cr1.5,linux-6.12,linux-7.3 \
                mb_optimize_scan=1 "mb_max_linear_groups=$value")"
        done
    done
}

trim() {
    local kind value
    header "| kind | trim order | 6.1 with the series | 6.12 |"
    for kind in posting midfrag smallfiles problem3 posting-1k 4k-delalloc; do
        capture "$kind"
        for value in 0 1 2 3 6; do
            echo "| $kind | $value |$(cells cr1.5,linux-6.12 "mb_cr1_5_max_trim_order=$value" \
                "mb_best_avail_max_trim_order=$value")"
        done
    done
}

streams() {
    local kind cpus cell="$cell) / \\(.files.extents"
    header "| kind | 6.12: one goal | 7.3: CPUs | 7.3 |"
    for kind in streams problem3 4k-delalloc aged; do
        capture "$kind"
        for cpus in 1 2 4 8 16 32 64; do
            echo "| $kind |$(if [ $cpus = 1 ]; then cells linux-6.12; else echo ' |'; fi) $cpus |$(
                cells linux-7.3 possible_cpus=$cpus)"
        done
    done
}

for table in "${wanted[@]}"; do
    case $table in
    lists | walk | trim | streams) ;;
    *) die "no table '$table': lists, walk, trim, streams" ;;
    esac
done
for table in "${wanted[@]}"; do
    "$table" | tee "$out/knobs.$table.md"
    echo
    [ -z "$into" ] || put_table "$into" "<!-- knobs $table -->" "$out/knobs.$table.md"
done
