#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the tables of docs/studies/stripe.md: files of 64 KiB on file systems whose free extents are as long as
# the goal, but nowhere aligned to the stripe.
#   stripe.sh [--sizes "4G 16G 64G 256G"] [--stripes "0 512"] [--policies "POLICY..."]
#             [--set NAME=VALUE]... [--keep IMAGE] [BUILD]
# Prints a tab-separated table. --keep: keeps the image of the last size. BUILD: default build/release. Takes a
# few seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
sizes="4G 16G 64G 256G" stripes="0 512" policies="legacy cr1.5 linux-6.12 linux-7.3"
settings=() keep='' build=build/release
while [ $# -gt 0 ]; do
    case $1 in
    --sizes) sizes=$2 && shift ;;
    --stripes) stripes=$2 && shift ;;
    --policies) policies=$2 && shift ;;
    --keep) keep=$2 && shift ;;
    --set) settings+=(--set "$2") && shift ;;
    -*) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Free extents of 600 blocks, from 100 to 699 of every 1,024. None of them contains 512 blocks that begin at a
# multiple of 512.
make_image() {
    rm -f "$work/image"
    truncate -s "$1" "$work/image"
    mke2fs -q -F -t ext4 -b 4096 -O '^has_journal,^resize_inode,^metadata_csum,^uninit_bg' -E nodiscard \
        -N 65536 "$work/image"
    local blocks
    blocks=$(dumpe2fs -h "$work/image" 2>/dev/null | awk -F: '/^Block count/ { print $2 + 0 }')
    seq 0 1024 $((blocks - 1024)) | awk '{ print "setb " $1, 100; print "setb " $1 + 700, 324 }' |
        debugfs -w -f - "$work/image" >/dev/null 2>&1
    # The descriptors must have the right counts, or the groups count as corrupt.
    dumpe2fs "$work/image" 2>/dev/null |
        awk -F'[: ]+' '/^Group [0-9]/ { group = $2 }
            /^  Free blocks:/ {
                free = 0
                n = split($0, ranges, /[:,] */)
                for (i = 2; i <= n; i++)
                    if (split(ranges[i], ends, "-") == 2) free += ends[2] - ends[1] + 1
                    else if (ranges[i] != "") free++
                print "set_bg", group, "free_blocks_count", free
                sum += free
            }
            END { print "ssv free_blocks_count", sum }' |
        debugfs -w -f - "$work/image" >/dev/null 2>&1
}

printf 'size 65536 1\nage 1 1\nappend 0\nrewrite 0\nsync 100\n' >"$work/profile"
printf 'groups\tpolicy\tstripe\trequests\tgroups considered per request\textents scanned per request\textents per file\n'
for size in $sizes; do
    make_image "$size"
    for policy in $policies; do
        for stripe in $stripes; do
            "$build/tools/e4replay" age "$work/image" -o "$work/out" --profile "$work/profile" -p "$policy" \
                --set mb_stripe="$stripe" "${settings[@]}" --until 'utilisation 0.5, turnover 0.01x' --writing delalloc \
                --json - --no-progress 2>/dev/null |
                jq -r --arg policy "$policy" --arg stripe "$stripe" '
                    def to(n): . * pow(10; n) | round / pow(10; n);
                    [.image.groups, $policy, $stripe, .age.requests,
                     (.age.groups_considered / .age.requests | to(2)),
                     (.age.extents_scanned / .age.requests | to(2)),
                     (.files.extents / .files.count | to(2))] | @tsv'
        done
    done
done
[ -z "$keep" ] || cp --sparse=always "$work/image" "$keep"
