#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Takes captures, runs `e4replay verify` on each, and prints one table for kernel/results.
#
# Usage: agree.sh [--kernel base|SERIES] [-p POLICY] [--target uml|arm64] [--seed N]... [--again]
#                 [--only-verify] [--open-stats] [-o DIR] [--into FILE] [KIND...]
#   --target T     if no kinds are named, take those that are captured in guests of this target (default: uml)
#   --seed N       seeds to use instead of those in kernel/lab/kinds.table; "Nw": read mb_groups first
#   --again        take captures again even if DIR has them
#   --only-verify  take no captures, verify those in DIR
#   --open-stats   permit differences in counters of mb_stats: since 6.5, some counters depend on file sizes,
#                  which no trace contains (docs/fidelity.md)
#   -o DIR         default: $E4R_LAB/captures
#   -p POLICY      default: legacy; for a tree that fetch.sh --tree has copied, the policy that verify chooses
#   --into FILE    also puts the table between the lines "<!-- agree TREE -->" and "<!-- end -->" of
#                  a Markdown file; with a target other than uml, "<!-- agree TREE TARGET -->"
#
# Prints a Markdown table with a row of totals. Exit status 3 if a kind with one writer disagrees, or if a kind with
# several writers disagrees in a decision that is not a race (a race is a decision that overlaps another thread's work).
# Exit status 1 if there was nothing to verify, or if verify itself failed.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"

tree=base
policy=
again=0
capture=1
open_stats=0
out=$E4R_LAB/captures
into=
seeds=()
kinds=()
target=uml
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    -p) policy=$2 && shift ;;
    --target) target=$2 && shift ;;
    --seed) seeds+=("$2") && shift ;;
    --again) again=1 ;;
    --only-verify) capture=0 ;;
    --open-stats) open_stats=1 ;;
    -o) out=$2 && shift ;;
    --into) into=$2 && shift ;;
    -*) usage ;;
    *) kinds+=("$1") ;;
    esac
    shift
done
if [ ${#kinds[@]} = 0 ]; then
    # A kind without seeds runs only if the command line names it.
    for kind in $(kinds_of "$target"); do
        [ -z "$(kind_field "$kind" seeds)" ] || kinds+=("$kind")
    done
    [ ${#kinds[@]} -gt 0 ] || die "kernel/lab/kinds.table has no kind of target '$target'"
fi
[ -n "$policy" ] || is_copied "$(base_of "$tree")" || policy=legacy
mkdir -p "$out"
build_project e4replay
e4replay=$(project_build)/tools/e4replay

# row KIND SEED NAME: verifies one capture and prints its line. Returns the status of agreement_row.
row() {
    local kind=$1 seed=$2 name=$3 status=0 report
    report=$out/$name.verify
    "$e4replay" verify "$out/$name.img" "$out/$name.trace.zst" ${policy:+-p "$policy"} --no-progress \
        >"$report" 2>&1 || status=$?
    [ -e "$out/$name.mb_stats" ] || echo "mb_stats: the kernel has none" >>"$report"
    agreement_row "$kind" "$seed" "$(kind_field "$kind" writers)" "$status" "$report" \
        "$open_stats"
}

# table: prints a line per capture; returns the worst status.
table() {
    local kind seed drawn warm name lacks status worst=0 verified=0
    echo "| kind | seed | writers | decisions | identical % | free-running % | races | model errors | mb_groups equal | mb_stats equal | first divergence |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|"
    for kind in "${kinds[@]}"; do
        # The field not-on lists numbers of bases. The name of a series on another base begins with the number of that
        # base.
        if [[ " $(kind_field "$kind" not-on) " == *" ${tree%%-*} "* ]]; then
            note "$kind: not on $tree"
            continue
        fi
        lacks=$(lacking_of_kind "$tree" "$kind" | paste -sd' ')
        if [ -n "$lacks" ]; then
            note "$kind: $tree has no $lacks"
            continue
        fi
        drawn=("${seeds[@]}")
        # shellcheck disable=SC2207 # word splitting is intended
        [ ${#drawn[@]} -gt 0 ] || drawn=($(kind_field "$kind" seeds))
        for seed in "${drawn[@]}"; do
            warm=()
            [[ $seed != *w ]] || warm=(--warm)
            name=$(capture_name "$kind" "${seed%w}" "${#warm[@]}" "$tree")
            if [ $capture = 1 ] && { [ $again = 1 ] || [ ! -e "$out/$name.e2freefrag" ]; }; then
                "$lab_dir/capture.sh" "$kind" --seed "${seed%w}" "${warm[@]}" --kernel "$tree" \
                    -o "$out" >/dev/null || {
                    echo "| $kind | $seed | | capture failed | | | | | | | |"
                    worst=1
                    continue
                }
            fi
            [ -e "$out/$name.e2freefrag" ] || continue
            status=0
            verified=$((verified + 1))
            row "$kind" "$seed" "$name" || status=$?
            if [ $status -gt $worst ]; then worst=$status; fi
        done
    done
    if [ $verified = 0 ]; then
        note "no capture to verify in $out"
        worst=1
    fi
    return $worst
}

for kind in "${kinds[@]}"; do
    known_kind "$kind" || die "no kind '$kind' in kernel/lab/kinds.table"
done
lines=$(mktemp "$E4R_LAB/agree.XXXXXX")
trap 'rm -f "$lines"' EXIT
worst=0
table | tee "$lines" || worst=${PIPESTATUS[0]}
totals "$lines" | tee -a "$lines"
mark="agree $tree"
[ "$target" = uml ] || mark+=" $target"
if [ -n "$into" ]; then put_table "$into" "<!-- $mark -->" "$lines"; fi
exit "$worst"
