#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests predictions of another kernel. For each kind, takes a capture on each of the two kernels, with the same start
# image and the same workload. Replays the first kernel's capture under the policy of the second kernel. Compares the
# result with the second kernel's own mb_stats, and with e2freefrag's view of its end state.
#
# Usage: predict.sh [--from base|6.12|7.3|SERIES] [--to base|6.12|7.3|SERIES] [--seed N] [--again]
#                   [-o DIR] [--into FILE] KIND...
#   --from TREE       the recorded kernel (default: base)
#   --to TREE         the kernel to predict (default: all)
#   --seed N          default: 1w; "Nw" means that mb_groups is read first
#   --into FILE       also puts the table between "<!-- predict FROM TO -->" and "<!-- end -->" of FILE
#
# Prints a Markdown table, whose first column of figures shows the recorded kernel. Exit status 3 if a predicted figure
# differs by more than 5 % and also by more than 5 hits, or 20 extents or groups. Smaller differences are permitted,
# because the workloads of the two kernels may differ by one search.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
# shellcheck source=kernel/lab/lib/figures.sh
source "$lab_dir/lib/figures.sh"

from=base
to=all
kinds=()
while [ $# -gt 0 ]; do
    case $1 in
    --from) from=$2 && shift ;;
    --to) to=$2 && shift ;;
    -*) common_option "$@" && shift $((words - 1)) ;;
    *) kinds+=("$1") ;;
    esac
    shift
done
[ ${#kinds[@]} -gt 0 ] || usage
prepare_captures

rows() {
    local kind=$1 recorded real figures
    recorded=$(take "$kind" "$from")
    real=$(take "$kind" "$to")
    figures=$(replay_figures "$recorded" "$(policy_of_tree "$from")" "$(policy_of_tree "$to")") ||
        die "replaying $recorded failed"
    figures+=$'\n'$(live_figures "$real" "$to" | sed 's/^/kernel /')
    prediction_rows "$kind" "$(policy_of_tree "$from")" "$(policy_of_tree "$to")" <<<"$figures"
}

for kind in "${kinds[@]}"; do
    known_kind "$kind" || die "no kind '$kind' in kernel/lab/kinds.table"
done
lines=$(mktemp "$E4R_LAB/predict.XXXXXX")
trap 'rm -f "$lines"' EXIT
worst=0
{
    echo "| kind | figure | $from | predicted | $to | off by |"
    echo "|---|---|---|---|---|---|"
    for kind in "${kinds[@]}"; do rows "$kind" || worst=$?; done
    exit $worst
} | tee "$lines" || worst=${PIPESTATUS[0]}
if [ -n "$into" ]; then put_table "$into" "<!-- predict $from $to -->" "$lines"; fi
exit "$worst"
