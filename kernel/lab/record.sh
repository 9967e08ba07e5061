#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Records mounted, aged and busy file systems with `e4replay record` in a guest. Runs `e4replay verify` on each
# recording, and prints one table for docs/recording.md.
#
# Usage: record.sh [--kernel base|SERIES] [--target uml|uml-smp|qemu] [--seed N]... [--for TIME] [--again]
#                  [--into FILE] [--record OPTIONS] [KIND...]
#   --target uml-smp  use a guest with two CPUs, or CPUS=N of them (7.3; default: uml, which has one CPU)
#   --target qemu     use a guest with two CPUs in software emulation
#   --for TIME        how long to record (default: 3s)
#   --record OPTIONS  more options for `e4replay record`, such as "--settle"
#   --again           record again even if a capture exists
#   --into FILE       also puts the table between the lines "<!-- record TREE -->" and
#                     "<!-- end -->" of a Markdown file
#
# The kinds are in kernel/lab/kinds.table; the default is about twenty of them. Exit status 3 if less than 90 % of any
# capture's decisions agree.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"

tree=base
target=uml
seeds=()
for=3s
again=0
into=
record=
kinds=()
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    --target) target=$2 && shift ;;
    --seed) seeds+=("$2") && shift ;;
    --for) for=$2 && shift ;;
    --record) record=$2 && shift ;;
    --again) again=1 ;;
    --into) into=$2 && shift ;;
    -*) usage ;;
    *) kinds+=("$1") ;;
    esac
    shift
done
[ ${#kinds[@]} -gt 0 ] || kinds=(4k-delalloc 4k-nodelalloc 4k-8-groups 1k-delalloc 1k-nodelalloc
    2k-delalloc bigalloc-64k stripe raid5 indirect no-flex-bg linear holes holes-1k direct empty
    no-journal data-journal aged wide)
[ ${#seeds[@]} -gt 0 ] || seeds=(1)
need jq
for kind in "${kinds[@]}"; do
    known_kind "$kind" || die "no kind '$kind' in kernel/lab/kinds.table"
done
build_programs
build_project make_fragmented e4replay
e4replay=$(project_build)/tools/e4replay
out=$E4R_LAB/recorded
mkdir -p "$out"

# take KIND SEED FILE: runs the kind in a guest and records it into FILE.
take() {
    local work
    work=$(new_run "record-$1")
    make_start_image "$1" "$2" "$work/disk"
    DISKS=("$work/disk")
    APPEND=$(kind_field "$1" append)
    TIMEOUT=${TIMEOUT:-600}
    VARS=("E4REPLAY=$e4replay" "MOUNT=$(kind_field "$1" mount)" "KNOBS=$(kind_field "$1" knobs)"
        "RUN=$(kind_field "$1" run)" "FOR=$for" "RECORD=$record")
    guest "$work" "$tree" "$target" plain "$lab_dir/jobs/record.sh"
    mv "$work/record.e4c" "$3"
    rm -rf "$work"
}

# row KIND SEED FILE: prints one line of the table; returns 3 if too few decisions agree.
row() {
    local status=0 report=$3.json
    "$e4replay" verify "$3" --no-progress --json "$report" >/dev/null 2>"$3.err" || status=$?
    if [ $status != 0 ] && [ $status != 3 ]; then
        echo "| $1 | $2 | $(tail -1 "$3.err") | | | | | | | |"
        return 1
    fi
    jq -r --arg kind "$1" --arg seed "$2" '
        .runs[0].agreement as $a | .warm_start as $w |
        [$kind, $seed, $a.requests, ($a.percent_identical * 1000 | floor / 1000), $a.last_divergence,
         $a.free_run.identical, $w.clusters_shown_by_trace, $w.clusters_found_by_counters,
         $w.clusters_not_found, $a.final_groups_equal] |
        "| " + (map(tostring) | join(" | ")) + " |"' "$report"
    jq -e '.runs[0].agreement.percent_identical >= 90' "$report" >/dev/null || return 3
}

table() {
    local kind seed file status worst=0
    echo "| kind | seed | decisions | identical % | last divergence | identical alone | clusters shown by the trace | by mb_groups | not found | mb_groups equal |"
    echo "|---|---|---|---|---|---|---|---|---|---|"
    for kind in "${kinds[@]}"; do
        for seed in "${seeds[@]}"; do
            file=$out/${kind}-s$seed-$tree-$target${record// /}.e4c
            if [ $again = 1 ] || [ ! -e "$file" ]; then take "$kind" "$seed" "$file"; fi
            status=0
            row "$kind" "$seed" "$file" || status=$?
            if [ $status -gt $worst ]; then worst=$status; fi
        done
    done
    return $worst
}

lines=$(mktemp "$E4R_LAB/record.XXXXXX")
trap 'rm -f "$lines"' EXIT
worst=0
table | tee "$lines" || worst=${PIPESTATUS[0]}
if [ -n "$into" ]; then put_table "$into" "<!-- record $tree -->" "$lines"; fi
exit "$worst"
