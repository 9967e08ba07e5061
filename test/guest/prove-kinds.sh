#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Takes fresh captures of every kind with one writer (kernel/lab/kinds.table) in guests of the kernel lab. The recorded
# kernel, the code of its tree and the model must make the same decisions.
#   test/guest/prove-kinds.sh [--seed N]... [--target T] [--longer N] [--only-verify] KERNEL POLICY [KIND...]
#     KERNEL   base, 6.12, 7.3 or a series (kernel/lab/lab)
#     POLICY   the policy that models this kernel (`e4replay policies`)
#     --seed   seeds to use instead of those in kinds.table
#     --target if no kinds are named, take those that are captured in guests of this target (default: uml)
#     --longer run N times as many operations of churn, so that a capture has more decisions. Does not
#              change fill, because the kernel's own writeback would then become a second writer
#     --only-verify   takes no captures; uses those that exist
# Builds what is missing. Captures stay in $E4R_LAB/captures (or captures-xN); those that exist are used. Prints a table
# for the model and one for the code. Exit status 3 if either differs from the recording.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/../../kernel/lab/lib/common.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"

seeds=()
target=uml
longer=
only_verify=
while [[ ${1:-} == --* ]]; do
    case $1 in
    --seed) seeds+=(--seed "${2:-}") && shift ;;
    --target) target=${2:-} && shift ;;
    --longer)
        longer=${2:-} && shift
        [[ $longer =~ ^[1-9][0-9]{0,2}$ ]] || {
            echo "prove-kinds.sh: --longer '$longer': give a number from 1 to 999" >&2
            exit 2
        }
        ;;
    --only-verify) only_verify=$1 ;;
    *) break ;;
    esac
    shift
done
[ $# -ge 2 ] && [[ $1 != -* ]] || {
    sed -n 's/^#   test/usage: test/p; s/^#     /  /p' "$0" >&2
    exit 2
}
tree=$1 policy=$2
shift 2
kinds=("$@")
captures=$E4R_LAB/captures
if [ -n "$longer" ]; then
    # Longer captures have the same names, so they get their own directory.
    captures=$E4R_LAB/captures-x$longer
    mkdir -p "$captures"
    awk -v times="$longer" '
        $1 == "run" { for (i = 3; i < NF; ++i) if ($i == "--ops") $(i + 1) *= times }
        { print }' "$kinds_table" >"$captures/kinds.table"
    kinds_table=$captures/kinds.table
    export E4R_KINDS=$kinds_table
fi
[ ${#kinds[@]} -gt 0 ] || mapfile -t kinds < <(kinds_of "$target")
one_writer=()
for kind in "${kinds[@]}"; do
    known_kind "$kind" || die "no kind '$kind' in kernel/lab/kinds.table"
    # Skip kinds without seeds, which are only start images for jobs.
    [ -n "$(kind_field "$kind" run)" ] && [ -n "$(kind_field "$kind" seeds)" ] || continue
    [ -n "$(kind_field "$kind" writers)" ] || one_writer+=("$kind")
done
[ ${#one_writer[@]} -gt 0 ] || die "none of these kinds has one writer"
[ -d "$(tree_of "$tree")" ] || die "no $(tree_of "$tree"): run lab fetch, and lab apply for a series"

# For 6.5 and later, some counters of mb_stats depend on file sizes that are not known (docs/fidelity.md).
open=()
case $(tree_version "$(tree_of "$tree")") in
6.[1-4].*) ;;
*) open=(--open-stats) ;;
esac

build_project e4replay
code=$E4R_LAB/$tree.uml
"$(project_build)/tools/e4replay" kernel build "$(tree_of "$tree")" -o "$code" --build-dir "$E4R_LAB/code-$tree" \
    --no-progress >&2
worst=0

# compare POLICY [OPTION]: prints a table of all captures under the policy.
compare() {
    local status=0
    "$lab_dir/agree.sh" --kernel "$tree" -p "$1" "${open[@]}" "${seeds[@]}" -o "$captures" \
        "${@:2}" "${one_writer[@]}" || status=$?
    [ $status -le $worst ] || worst=$status
}
if [ -z "$only_verify" ]; then
    for kind in "${one_writer[@]}"; do target_of_kind "$kind"; done | sort -u | while read -r target; do
        "$lab_dir/build.sh" "$tree" --target "$target" >/dev/null
    done
fi
echo "$policy:"
compare "$policy" ${only_verify:+"$only_verify"}
echo
echo "the code of $tree:"
compare "kernel:$code" --only-verify
exit $worst
