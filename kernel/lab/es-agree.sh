#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Records the extent status trees and their shrinker in guests. Runs `e4replay shrinker --verify` on each capture, and
# prints a table.
#
# Usage: es-agree.sh [--kernel base|SERIES] [--recorded MODEL] [--seed N] [-o DIR] [SHAPE...]
#        es-agree.sh --list
#   --recorded   the model of the shrinker in that kernel (default: round-robin)
#   -o DIR       directory of the traces (default: $E4R_LAB/es-captures); without -o, traces that agree are removed
#
# Exit status 3 if anything differs.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
# shellcheck source=kernel/lab/lib/jobs.sh
source "$lab_dir/lib/jobs.sh"

# Lists the shapes: NAME | start image | mount options | memory | size of the trace buffer in KiB | program and
# arguments
shapes() {
    cat <<'SHAPES'
churn | plain-1g | defaults | 1500M | 400000 | churn --ops 12000 --mix wide
holes | plain-1g | defaults | 1500M | 400000 | churn --ops 12000 --mix holes
direct | plain-1g | defaults | 1500M | 400000 | churn --ops 8000 --mix direct
nodelalloc-1k | 1k-nodelalloc | nodelalloc | 1500M | 400000 | churn --ops 8000 --mix wide
delalloc-1k | 1k-delalloc | defaults | 1500M | 400000 | churn --ops 8000 --mix wide
bigalloc | bigalloc-64k | defaults | 1500M | 400000 | churn --ops 8000 --mix basic
indirect | indirect-1k-nodelalloc | nodelalloc | 1500M | 400000 | churn --ops 8000 --mix indirect
delayed | plain-4g | defaults | 1500M | 400000 | delayed --blocks 40000
full | plain-1g | defaults | 1500M | 400000 | fill --threads 1 --rounds 1 --max-size 4M
pressure | plain-1g | defaults | 160M | 60000 | churn --ops 12000 --mix wide
threads | plain-1g | defaults | 1500M | 400000 | churn --ops 4000 --threads 4 --mix wide
SHAPES
}

tree=base
recorded=round-robin
seed=1
out=$E4R_LAB/es-captures
keep=0
wanted=()
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    --recorded) recorded=$2 && shift ;;
    --seed) seed=$2 && shift ;;
    -o) out=$2 && keep=1 && shift ;;
    --list) shapes | cut -d' ' -f1 && exit ;;
    -*) usage ;;
    *) wanted+=("$1") ;;
    esac
    shift
done
for shape in "${wanted[@]}"; do
    shapes | grep -q "^$shape |" || die "no shape '$shape': there are $(shapes | cut -d' ' -f1 | paste -sd' ')"
done
need jq zstd
build_programs
build_project make_fragmented
build_project e4replay
mkdir -p "$out"

# row NAME FILE: prints a line from e4replay's JSON.
row() {
    jq -r --arg name "$1" '.shrinker | .recorded as $r |
        "| \($name) | \(.events) | \($r.lookups.same) of \($r.lookups.all)" +
        " | \($r.calls.same) of \($r.calls.all) | \($r.reclaimable.same) of \($r.reclaimable.all)" +
        " | \($r.percent_identical) | \($r.unseen) |"' "$2"
}

echo "| shape | events | lookups alike | calls alike | reclaimable entries alike | % | unseen |"
echo "|---|---|---|---|---|---|---|"
failed=0
taken=0
while IFS='|' read -r name image mount mem trace run; do
    read -r name <<<"$name"
    read -r run <<<"$run"
    if [ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" $name "* ]]; then continue; fi
    [[ $run == delayed* ]] || run+=" --seed $seed"
    IMAGE=${image// /}
    MEM=${mem// /}
    dir=$(run_job "$tree" uml plain es-capture "RUN=$run" "MOUNT=${mount// /}" \
        "TRACE_KB=${trace// /}" </dev/null)
    zstd -q -f --rm "$dir/es.trace" -o "$out/$name-s$seed.trace.zst"
    rm -rf "$dir"
    status=0
    "$(project_build)/tools/e4replay" shrinker "$out/$name-s$seed.trace.zst" --verify --recorded "$recorded" \
        --json "$out/$name-s$seed.json" >"$out/$name-s$seed.txt" || status=$?
    case $status in
    0) [ $keep = 1 ] || rm -f "$out/$name-s$seed.trace.zst" ;;
    3) failed=$((failed + 1)) && cat "$out/$name-s$seed.txt" >&2 ;;
    *) die "e4replay could not verify $out/$name-s$seed.trace.zst" ;;
    esac
    row "$name" "$out/$name-s$seed.json"
    taken=$((taken + 1))
done < <(shapes)
[ $taken -gt 0 ] || die "no capture was taken"
[ $failed = 0 ] || exit 3
