#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the table of docs/studies/lists.md: bundled captures with and without order lists, and with groups to
# walk before the lists.
#   lists.sh [--policies legacy,linux-6.12] [--groups 0,4,16] [--html FILE] [BUILD]
# Prints a line of JSON for each point; lists.jq makes a Markdown table or a picture of them. BUILD: default
# build/release. Takes ten seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
policies=legacy,linux-6.12 groups=0,4,16 html=() build=build/release
while [ $# -gt 0 ]; do
    case $1 in
    --policies) policies=$2 && shift ;;
    --groups) groups=$2 && shift ;;
    --html) html=(--html "$(realpath -m "$2")") && shift ;;
    -*) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done
build=$(realpath "$build")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Without lists nothing asks for groups to walk, so one value stands for all.
"$build/tools/e4replay" sweep traces/{posting-256g,midfrag-256g,smallfiles-256g,churn-4k,churn-1k-nodelalloc,aged-1k}.e4c \
    -p "$policies" --set mb_optimize_scan=0,1 \
    --set mb_max_linear_groups="$groups" \
    --where "mb_optimize_scan == 1 || mb_max_linear_groups == ${groups%%,*}" \
    -o "$work/out" "${html[@]}" --no-progress >&2
jq -c '{capture: (.capture | sub(".*/"; "") | sub("[.]e4c$"; "")), policy, lists: .tunables.mb_optimize_scan,
        walk: .tunables.mb_max_linear_groups,
        steps: ((.groups_considered + .mb_stats.extents_scanned) / .requests),
        considered: .groups_considered, scanned: .mb_stats.extents_scanned,
        read: .mb_stats.buddies_generated, extents: .files.avg_extents,
        seek_mib: (.layout.seek_kb_per_file / 1024)}' "$work/out/points.jsonl"
