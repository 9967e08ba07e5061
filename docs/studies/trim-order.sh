#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the tables of docs/studies/trim-order.md: files of one size, written on fragmented file systems, under
# CR1.5 with each trim order.
#   trim-order.sh [--size 16G] [--profile agrawal] [--turnovers "0 2 10"] [--files "64K 512K 4M"]
#                 [--orders "0 1 ..."] [--writing delalloc] [--set NAME=VALUE]... [BUILD]
# Prints a tab-separated table; trim-order.jq makes a Markdown table or a picture of it. BUILD: default
# build/release. Takes about two minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
size=16G profile=agrawal turnovers="0 2 10" files="64K 512K 4M" orders="0 1 2 3 4 5 6 7 8"
writing=delalloc settings=() build=build/release
while [ $# -gt 0 ]; do
    case $1 in
    --size) size=$2 && shift ;;
    --profile) profile=$2 && shift ;;
    --turnovers) turnovers=$2 && shift ;;
    --files) files=$2 && shift ;;
    --orders) orders=$2 && shift ;;
    --writing) writing=$2 && shift ;;
    --set) settings+=(--set "$2") && shift ;;
    -*) sed -n '/^#   trim-order/,/BUILD]/s/^#   //p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
e4replay=$build/tools/e4replay

# aged TURNOVER: makes a file system with 80 % in use, after at least this turnover.
aged() {
    "$e4replay" age "$size" -o "$work/aged" --profile "$profile" --until "utilisation 0.8, turnover ${1}x" \
        --writing "$writing" --json "$work/aged.json" --no-progress >/dev/null 2>&1
}

# row BYTES POLICY SETTING...: writes files of that size until 90 % are in use, and half as much again.
row() {
    printf 'size %s 1\nage 1 1\nappend 0\nrewrite 0\nsync 100\n' "$1" >"$work/profile"
    "$e4replay" age "$work/aged" -o "$work/end" --profile "$work/profile" -p "$2" "${settings[@]}" "${@:3}" \
        --until 'utilisation 0.9, turnover 0.5x' --writing "$writing" --json - --no-progress 2>/dev/null |
        jq -r '[(.age.groups_considered + .age.extents_scanned) / .age.requests,
                .files.extents / .files.count, .aged.count, .aged.whole_mib] | @tsv'
}

printf 'turnover\tfree_kb\tfile\tpolicy\torder\tsteps\textents\tfree_extents\twhole_mib\n'
for turnover in $turnovers; do
    aged "$turnover"
    free_kb=$(jq .aged.avg_kb "$work/aged.json")
    # At least the amount that fills it.
    written=$(jq '.age.turnover * 10 | round / 10' "$work/aged.json")
    for file in $files; do
        bytes=$(numfmt --from=iec "$file")
        printf '%s\t%s\t%s\tlegacy\t-\t%s\n' "$written" "$free_kb" "$file" "$(row "$bytes" legacy)"
        for order in $orders; do
            printf '%s\t%s\t%s\tcr1.5\t%s\t%s\n' "$written" "$free_kb" "$file" "$order" \
                "$(row "$bytes" cr1.5 --set mb_cr1_5_max_trim_order="$order")"
        done
    done
done
