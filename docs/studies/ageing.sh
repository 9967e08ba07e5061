#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the table of docs/studies/ageing.md: the same operations under several policies.
#   ageing.sh [--size 4G] [--until 'WHAT N, ...'] [--profiles "P..."] [--policies "POLICY..."]
#             [--writing nodelalloc] [BUILD]
# BUILD: default build/release. Takes a minute or two per profile.
set -euo pipefail
cd "$(dirname "$0")/../.."
size=4G until='utilisation 0.8, turnover 10x' writing=nodelalloc build=build/release
profiles="agrawal douceur meyer wang-os wang-lanl"
policies="legacy cr1.5 linear linux-6.12 linux-7.3"
while [ $# -gt 0 ]; do
    case $1 in
    --size) size=$2 && shift ;;
    --until) until=$2 && shift ;;
    --profiles) profiles=$2 && shift ;;
    --policies) policies=$2 && shift ;;
    --writing) writing=$2 && shift ;;
    -*) sed -n 's/^#   ageing/usage: ageing/p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
truncate -s "$size" "$work/start"
mke2fs -q -F -t ext4 -E nodiscard,lazy_itable_init=1 "$work/start"
echo "| profile | policy | extents of a file | files in one, % | free extents | whole MiB free | groups considered | extents scanned |"
echo "|---|---|---|---|---|---|---|---|"
for profile in $profiles; do
    for policy in $policies; do
        "$build/tools/e4replay" age "$work/start" -o "$work/aged" --profile "$profile" -p "$policy" \
            --until "$until" --writing "$writing" --json - --no-progress 2>/dev/null |
            jq -r --arg policy "$policy" '
                def to(n): . * pow(10; n) | round / pow(10; n);
                [.age.profile, $policy, (.files.extents / .files.count | to(3)),
                 (100 * .files.one_extent / .files.count | to(1)), .aged.count,
                 .aged.whole_mib, .age.groups_considered, .age.extents_scanned] |
                "| " + (map(tostring) | join(" | ")) + " |"'
    done
done
