#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs the same workload on several kernels, and compares their counters with predictions from a replay of the
# first kernel's capture.
#
# Usage: kernels.sh [--kernels "TREE..."] [--seed N] [--again] [-o DIR] [--into FILE] KIND...
#   --kernels "..."   default: "base all 6.12 7.3"; the capture of the first one is replayed
#   --seed N          default: 1w; "Nw" means that mb_groups is read first
#   --into FILE       also puts the table between "<!-- kernels -->" and "<!-- end -->" of FILE
#
# Prints a Markdown table. A cell shows the kernel's count. If the prediction differs, it follows in brackets.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
# shellcheck source=kernel/lab/lib/figures.sh
source "$lab_dir/lib/figures.sh"

trees=(base all 6.12 7.3)
kinds=()
while [ $# -gt 0 ]; do
    case $1 in
    --kernels) read -ra trees <<<"$2" && shift ;;
    -*) common_option "$@" && shift $((words - 1)) ;;
    *) kinds+=("$1") ;;
    esac
    shift
done
if [ ${#kinds[@]} = 0 ] || [ ${#trees[@]} -lt 2 ]; then usage; fi
prepare_captures

# cells KIND TREE...: reads "SIDE NAME VALUE" lines and prints lines of the table. SIDE is live/TREE or a policy.
cells() {
    awk -v kind="$1" -v trees="${*:2}" -v policies="$(for tree in "${@:2}"; do policy_of_tree "$tree"; done |
        paste -sd' ')" '
        # Returns a figure: the sum of the counters that match the pattern.
        function of(side, pattern,   sum, key, part) {
            sum = 0
            for (key in value) {
                split(key, part, SUBSEP)
                if (part[1] == side && part[2] ~ pattern) sum += value[key]
            }
            return sum
        }
        { value[$1, $2] = $3 }
        END {
            m = split("searches=/hits$;by CR0=^cr0/hits$;by CR1=^cr1/hits$;" \
                "by CR1.5 or best-avail=^(cr1[.]5|best_avail)/hits$;by CR2=^cr2/hits$;" \
                "by CR3=^cr3/hits$;groups considered=/groups_considered$;" \
                "extents scanned=^extents_scanned$;preallocated, clusters=^preallocated$;" \
                "free extents at the end=^free_extents$;extents of the files=^file_extents$", rows, ";")
            n = split(trees, tree, " ")
            split(policies, policy, " ")
            for (r = 1; r <= m; ++r) {
                split(rows[r], row, "=")
                line = ""
                all = 0
                for (t = 1; t <= n; ++t) {
                    live = of("live/" tree[t], row[2])
                    predicted = t == 1 ? live : of(policy[t], row[2])
                    line = line " | " live (predicted == live ? "" : " (" predicted ")")
                    all += live + predicted
                }
                if (all) print "| " kind " | " row[1] line " |"
            }
        }'
}

rows() {
    local kind=$1 tree name recorded='' policies=()
    {
        for tree in "${trees[@]}"; do
            name=$(take "$kind" "$tree")
            live_figures "$name" "$tree" | sed "s|^|live/$tree |"
            recorded=${recorded:-$name}
        done
        for tree in "${trees[@]:1}"; do policies+=("$(policy_of_tree "$tree")"); done
        replay_figures "$recorded" "${policies[@]}"
    } | cells "$kind" "${trees[@]}"
}

for kind in "${kinds[@]}"; do
    known_kind "$kind" || die "no kind '$kind' in kernel/lab/kinds.table"
done
lines=$(mktemp "$E4R_LAB/kernels.XXXXXX")
trap 'rm -f "$lines"' EXIT
{
    echo "| kind | | $(printf '%s | ' "${trees[@]}" | sed 's/base/6.1/; s/all/6.1 with the series/; s/ | $//') |"
    echo "|---|---$(for tree in "${trees[@]}"; do printf '|---'; done)|"
    for kind in "${kinds[@]}"; do rows "$kind"; done
} | tee "$lines"
if [ -n "$into" ]; then put_table "$into" "<!-- kernels -->" "$lines"; fi
