#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the code of a patched tree with the policy that models the patches. Both replay all bundled captures and
# decide by themselves. Every decision must be the same, and at the end the counters, the free space and the files must
# be the same. If the patched kernel itself recorded a capture, the code is also compared with the recorded decisions.
#   test/guest/prove-series.sh [--mount OPTIONS] TREE POLICY [DIR]
#     TREE     a tree with the patches (kernel/lab/lab apply SERIES)
#     POLICY   a name in `e4replay policies`; a capture was recorded by the patched kernel if its kernel in
#              traces/MANIFEST is "VERSION+POLICY"
#     OPTIONS  mount options, for a tree whose decisions depend on them; separated by ":"
#     DIR      where to build (default: build/guest/POLICY)
# Prints a table. Needs build/release/tools/e4replay, jq, and the tools to build kernels (tools/setup.sh lab).
set -euo pipefail
cd "$(dirname "$0")/../.."

die() {
    echo "prove-series.sh: $*" >&2
    exit 1
}

mount=
if [ "${1:-}" = --mount ] && [ $# -gt 1 ]; then
    mount=:$2
    shift 2
fi
{ [ $# = 2 ] || [ $# = 3 ]; } || {
    sed -n 's/^#   test/usage: test/p; s/^#     /  /p' "$0" >&2
    exit 2
}
tree=$(cd "$1" && pwd)
policy=$2
dir=${3:-build/guest/$policy}
e4replay=$PWD/build/release/tools/e4replay
command -v jq >/dev/null || die "no jq: run tools/setup.sh lab"
"$e4replay" policies "$policy" >/dev/null
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
kernel=kernel:$dir/$policy.uml$mount
# shellcheck source=test/guest/captures.sh
source test/guest/captures.sh

bad=0 captures=0 decisions=0

# row NAME WHAT DECISIONS ALIKE COUNTERS SPACE DIFFERENCE: prints a row of the table.
row() {
    captures=$((captures + 1))
    decisions=$((decisions + $3))
    [ "$3" = "$4" ] && [ "$5" = equal ] && [ "$6" = equal ] || bad=$((bad + 1))
    printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$@"
}

# against_policy NAME [COUNTERS]: replays the capture with the policy and with the code, and compares the results.
# COUNTERS is a jq filter that selects the counters of mb_stats to compare.
against_policy() {
    local result=$dir/$1.json fields
    "$e4replay" replay "traces/$1.e4c" -p "$policy,$kernel" --first-difference --no-progress --force \
        --json "$result" >/dev/null 2>"$dir/log" || { cat "$dir/log" >&2; die "$1: no answer"; }
    fields=$(jq -r '
        def counters: .mb_stats | '"${2:-.}"';
        def compare(what): .runs | map(what) | if .[0] == .[1] then "equal" else "differ" end;
        .runs[1].first_difference as $d |
        [$d.requests, if $d.decision then $d.alike else $d.requests end, compare(counters),
         compare([.free_extents, .files, .free_space]),
         if $d.decision then "\($d.decision): \($d.theirs) / \($d.made)" else "" end] | @tsv' "$result")
    IFS=$'\t' read -r -a fields <<<"$fields"
    row "$1" "$policy" "${fields[@]:0:4}" "${fields[4]:-}"
}

# against_recording NAME: compares the code with the recorded decisions.
against_recording() {
    local status=0 fields
    "$e4replay" verify "traces/$1.e4c" -p "$kernel" --no-progress --json "$dir/$1.json" >/dev/null \
        2>"$dir/log" || status=$?
    [ $status = 0 ] || [ $status = 3 ] || { cat "$dir/log" >&2; die "$1: no answer"; }
    fields=$(jq -r '.runs[0].agreement |
        [.requests, .identical, if .mb_stats_equal then "equal" else "differ" end,
         if .final_groups_equal then "equal" else "differ" end] | @tsv' "$dir/$1.json")
    IFS=$'\t' read -r -a fields <<<"$fields"
    row "$1" recording "${fields[@]}" ""
}

"$e4replay" kernel build "$tree" -o "$dir/$policy.uml" --build-dir "$dir/build" --no-progress >&2
echo "| capture | held against | decisions | identical | counters | free space, files | first difference |"
echo "|---|---|---|---|---|---|---|"
for name in $(captures_of "index(\$4, \"+$policy\")"); do
    against_recording "$name"
done
for name in $(captures_of 1); do
    against_policy "$name"
done
# If the recording began on a file system that was already mounted, the code also counts the buddies that it loads
# before the first request.
for name in $(recorded_captures); do
    against_policy "$name" 'del(.buddies_generated)'
done
printf '| **%s** | | **%s** | | | | |\n' "$captures captures" "$decisions"
[ $bad = 0 ] || die "$bad of $captures captures are decided otherwise"
echo "prove-series.sh: $kernel decides $captures captures as it should: $decisions decisions" >&2
