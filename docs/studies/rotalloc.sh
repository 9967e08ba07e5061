#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the tables and the picture of docs/studies/rotalloc.md: the same operations under stock, rotalloc and
# reuse of low addresses.
#   rotalloc.sh [--size 4G] [--profiles "P..."] [--seeds "N..."] [--utilisations "U..."]
#               [--turnovers "N..."] [--policies "STOCK POLICY..."] [--writing delalloc]
#               [--points FILE] [--svg FILE] [--jobs 2] [BUILD]
# POLICY: a policy, optionally with a tunable: NAME:TUNABLE=VALUE. The others are compared with the first. The
# second default is nearly the same as the first and shows the effect of chance. FILE: the figures of each run,
# one line of JSON each; runs in it are not repeated. BUILD: default build/release. Takes ten minutes on two
# cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
size=4G writing=delalloc points='' svg='' jobs=2 build=build/release
profiles="agrawal meyer wang-lanl" seeds="1 2 3" utilisations="0.5 0.8 0.9" turnovers="2 10"
policies="linux-7.3 linux-7.3:mb_stream_req=17 rotalloc low-first"
while [ $# -gt 0 ]; do
    case $1 in
    --size | --profiles | --seeds | --utilisations | --turnovers | --policies | --writing | \
        --points | --svg | --jobs)
        printf -v "${1#--}" %s "$2" && shift
        ;;
    -*) sed -n '/^#   rotalloc/,/BUILD]/s/^#   //p' "$0" >&2 && exit 2 ;;
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

# live PROFILE SEED UTILISATION TURNOVER POLICY: prints one run as a line of JSON.
live() {
    local life aged tunable=()
    [[ $5 != *:* ]] || tunable=(--set "${5#*:}")
    life="$size $writing $*"
    grep -qF "\"life\":\"$life\"" "$points" && return
    aged=$(mktemp "$work/aged.XXXXXX")
    "$build/tools/e4replay" age "$work/start" -o "$aged" --profile "$1" --seed "$2" \
        -p "${5%%:*}" "${tunable[@]}" --until "utilisation $3, turnover ${4}x" \
        --writing "$writing" --json - --no-progress |
        jq -c --arg life "$life" --arg set "$size $writing" --arg u "$3" --arg t "$4" --arg p "$5" '
            {life: $life, set: $set, profile: .age.profile, seed: .age.seed, policy: $p,
             utilisation: $u, turnover: $t,
             extents: (.files.extents / .files.count), score: .files.score_percent,
             seek: .files.avg_seek_kb,
             free: .aged.count, chunks: [.aged.chunks_1m, .aged.chunks_16m, .aged.chunks_128m],
             in: [.aged.in_64k_percent, .aged.in_1m_percent],
             freed: [.freed.in_64k_percent, .freed.in_1m_percent], runs: .freed.runs,
             groups: .age.groups_considered, scanned: .age.extents_scanned,
             ever: .ever_used.percent, histogram: .aged.histogram}' >"$aged.json"
    cat "$aged.json" >>"$points"
    rm -f "$aged" "$aged.json"
}
export -f live
export size writing points work build
for turnover in $turnovers; do
    for utilisation in $utilisations; do
        for profile in $profiles; do
            for seed in $seeds; do
                for policy in $policies; do
                    echo "$profile $seed $utilisation $turnover $policy"
                done
            done
        done
    done
done | xargs -P "$jobs" -L 1 bash -c 'set -euo pipefail; live "$@"' live

wanted=$(jq -nc --arg set "$size $writing" --arg p "$profiles" --arg s "$seeds" \
    --arg u "$utilisations" --arg t "$turnovers" --arg a "$policies" '
    {set: $set, profiles: ($p / " "), seeds: ($s / " "), utilisations: ($u / " "),
     turnovers: ($t / " "), policies: ($a / " ")}')
show() { jq -L docs/studies -rs --argjson w "$wanted" --arg show "$1" -f docs/studies/rotalloc.jq "$points"; }
show tables
[ -z "$svg" ] || show picture >"$svg"
