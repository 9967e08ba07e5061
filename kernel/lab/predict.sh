#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What a series would do, told from a capture of the stock kernel, against what it did: for each
# kind, captures of both kernels on the same start image with the same workload, `e4replay replay`
# on the stock one, and the patched kernel's own mb_stats.
#
# Usage: predict.sh [--kernel SERIES] [-p POLICY] [--seed N] [--again] [-o DIR] [--into FILE] KIND...
#   --kernel SERIES   default: all
#   -p POLICY         what the series makes of the allocator (default: cr1.5)
#   --seed N          default: 1w; "Nw": mb_groups is read first
#   --into FILE       also puts the table between "<!-- predict -->" and "<!-- end -->" of FILE
#
# Prints a Markdown table. Exit status 3 when a figure is more than 5 % off, and by more than a search
# or two make: the two kernels' workloads may differ by one. That is 5 hits, 20 extents or groups.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"

tree=all
policy=cr1.5
seed=1w
again=0
into=
out=$E4R_LAB/captures
kinds=()
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    -p) policy=$2 && shift ;;
    --seed) seed=$2 && shift ;;
    --again) again=1 ;;
    --into) into=$2 && shift ;;
    -o) out=$2 && shift ;;
    -*) usage ;;
    *) kinds+=("$1") ;;
    esac
    shift
done
[ ${#kinds[@]} -gt 0 ] || usage
need jq
mkdir -p "$out"
build_project e4replay
e4replay=$(project_build)/tools/e4replay
warm=()
[[ $seed != *w ]] || warm=(--warm)

# take KIND TREE: a capture, unless there is one; prints its name.
take() {
    local name
    name=$(capture_name "$1" "${seed%w}" "${#warm[@]}" "$2")
    if [ $again = 1 ] || [ ! -e "$out/$name.mb_stats" ]; then
        "$lab_dir/capture.sh" "$1" --seed "${seed%w}" "${warm[@]}" --kernel "$2" -o "$out" >/dev/null
    fi
    echo "$name"
}

# kernel_figures NAME: "cr1/hits 5" lines from mb_stats.
kernel_figures() {
    awk '/_stats:$/ { section = $1; sub(/_stats:/, "", section); next }
         /^\t[^\t]/ { section = "" }
         NF == 2 && $2 ~ /^[0-9]+$/ {
             name = $1; sub(/:$/, "", name)
             print (section ? section "/" : "") name, $2 }' "$out/$1.mb_stats"
}

# replay_figures NAME: the same from the replay of the stock capture. "stock" or "predicted" each.
replay_figures() {
    "$e4replay" replay "$out/$1.img" "$out/$1.trace.zst" -p "legacy,$policy" --no-progress \
        --json - | jq -r '.runs[] | .policy as $p | .mb_stats | paths(scalars) as $path |
            "\($p) \($path | join("/") | sub("_stats/"; "/")) \(getpath($path))"'
}

rows() {
    local kind=$1 stock patched figures
    stock=$(take "$kind" base)
    patched=$(take "$kind" "$tree")
    figures=$(replay_figures "$stock") || die "replaying $stock failed"
    figures+=$'\n'$(kernel_figures "$patched" | sed 's/^/kernel /')
    prediction_rows "$kind" "$policy" <<<"$figures"
}

for kind in "${kinds[@]}"; do
    known_kind "$kind" || die "no kind '$kind' in kernel/lab/kinds.table"
done
lines=$(mktemp "$E4R_LAB/predict.XXXXXX")
trap 'rm -f "$lines"' EXIT
worst=0
{
    echo "| kind | figure | stock | predicted | patched kernel | off by |"
    echo "|---|---|---|---|---|---|"
    for kind in "${kinds[@]}"; do rows "$kind" || worst=$?; done
    exit $worst
} | tee "$lines" || worst=${PIPESTATUS[0]}
if [ -n "$into" ]; then put_table "$into" "<!-- predict -->" "$lines"; fi
exit "$worst"
