#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the tables and the picture of docs/studies/forcealign.md: the free space available to aligned requests,
# run by run.
#   forcealign.sh [--size 4G] [--profiles "P..."] [--seeds "N..."] [--utilisation U]
#                 [--turnovers "N..."] [--policies "POLICY..."] [--writing delalloc]
#                 [--points FILE] [--svg FILE] [--jobs 2] [BUILD]
# POLICY: a policy, optionally with tunables: NAME:TUNABLE=VALUE,TUNABLE=VALUE. A turnover of 0 stops as soon as
# the utilisation is reached. FILE: the figures of each run, one line of JSON each; runs in it are not repeated.
# BUILD: default build/release. Takes half an hour on two cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
size=4G utilisation=0.8 writing=delalloc points='' svg='' jobs=2 build=build/release
profiles="agrawal douceur meyer wang-os wang-lanl" seeds="1 2 3" turnovers="0 2 4 8"
policies="legacy cr1.5 linux-6.5 linux-6.12 linux-7.3 rotalloc low-first"
policies+=" forcealign forcealign:extsize_trim=1 forcealign:extsize_every=8"
policies+=" forcealign:extsize_every=8,extsize_trim=1"
while [ $# -gt 0 ]; do
    case $1 in
    --size | --profiles | --seeds | --utilisation | --turnovers | --policies | --writing | \
        --points | --svg | --jobs)
        printf -v "${1#--}" %s "$2" && shift
        ;;
    -*) sed -n '/^#   forcealign/,/BUILD]/s/^#   //p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
points=${points:-$work/points}
touch "$points"
truncate -s "$size" "$work/start"
mke2fs -q -F -t ext4 -E nodiscard,lazy_itable_init=1 "$work/start"

# live PROFILE SEED TURNOVER POLICY: prints one run as a line of JSON. A run without enough space is reported,
# without other figures.
live() {
    local life aged until="utilisation $utilisation" setting tunables=()
    life="$size $writing $utilisation $*"
    grep -qF "\"life\":\"$life\"" "$points" && return
    [ "$3" = 0 ] || until+=", turnover $3x"
    [[ $4 != *:* ]] || for setting in $(tr , ' ' <<<"${4#*:}"); do tunables+=(--set "$setting"); done
    aged=$(mktemp "$work/aged.XXXXXX")
    if ! "$build/tools/e4replay" age "$work/start" -o "$aged" --profile "$1" --seed "$2" \
        -p "${4%%:*}" "${tunables[@]}" --until "$until" --writing "$writing" \
        --json "$aged.out" --no-progress >"$aged.text" 2>&1; then
        grep -q "no space is left" "$aged.text" || { cat "$aged.text" >&2 && return 1; }
        echo '{"full": true}' >"$aged.out"
    fi
    jq -c --arg life "$life" --arg set "$size $writing $utilisation" --arg p "$1" --arg s "$2" \
        --arg t "$3" --arg policy "$4" '
        {life: $life, set: $set, profile: $p, seed: $s, turnover: $t, policy: $policy} +
        if .full then {full: true} else
            {free: .aged.count, average: .aged.avg_kb, aligned: .aged.aligned,
             utilisation: .age.utilisation, extents: (.files.extents / .files.count),
             requests: .age.aligned_requests, refused: .age.aligned_refused,
             lost: (.age.refused_bytes / .age.bytes_written)} end' "$aged.out" >"$aged.line"
    cat "$aged.line" >>"$points"
    rm -f "$aged" "$aged".*
}
export -f live
export size utilisation writing points work build
for policy in $policies; do
    for turnover in $turnovers; do
        for profile in $profiles; do
            for seed in $seeds; do
                echo "$profile $seed $turnover $policy"
            done
        done
    done
done | xargs -P "$jobs" -L 1 bash -c 'set -euo pipefail; live "$@"' live

wanted=$(jq -nc --arg set "$size $writing $utilisation" --arg p "$profiles" --arg s "$seeds" \
    --arg t "$turnovers" --arg a "$policies" '
    {set: $set, profiles: ($p / " "), seeds: ($s / " "), turnovers: ($t / " "),
     policies: ($a / " ")}')
show() { jq -L docs/studies -rs --argjson w "$wanted" --arg show "$1" -f docs/studies/forcealign.jq "$points"; }
show tables
[ -z "$svg" ] || show picture >"$svg"
