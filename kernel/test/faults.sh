#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests whether the stress test of direct writes finds faulty kernels. Each patch of kernel/test/faults is applied to a
# separate tree and built, and `lab run diostress` on that kernel must fail with lost data.
#   kernel/test/faults.sh [--on TREE] [--target T] [--variant V] [--seeds N] [NAME...]
#     --on     the tree to change: base, or a series with dio-overwrite that has been applied (default: base)
#     --seeds  run the job with the seeds 1 to N for each fault (default: 1)
#     NAME     names of patches (default: all of faults/base, or of faults/dio-overwrite)
# A series for 7.3 also has the patches of faults/dio-overwrite/7.3, which replace patches of the same name. For each
# fault and seed, prints the seconds until the fault was found. If a patch has a line "Configs: NAMES", only these
# configurations of the job run. CONFIGS="NAMES" in the environment overrides this. ARGS="OPTIONS" is passed to the job.
# kernel/docs/lab.md explains E4R_LAB.
set -euo pipefail
cd "$(dirname "$0")/../.."
lab=kernel/lab/lab
export E4R_LAB=${E4R_LAB:-$PWD/build/lab}
tree=base
seeds=1
how=()
job=()
names=()
while [ $# -gt 0 ]; do
    case $1 in
    --on) tree=$2 && shift ;;
    --target | --variant) how+=("$1" "$2") && shift ;;
    --seeds) seeds=$2 && shift ;;
    -*) sed -n 's/^#   kernel/usage: kernel/p' "$0" >&2 && exit 2 ;;
    *) names+=("$1") ;;
    esac
    shift
done
faults=kernel/test/faults/dio-overwrite
[ "$tree" != base ] || faults=kernel/test/faults/base
own=$faults/${tree%%-*} # patches for this base only
if [ ${#names[@]} = 0 ]; then
    for patch in "$faults"/*.patch "$own"/*.patch; do
        [ ! -e "$patch" ] || names+=("$(basename "$patch" .patch)")
    done
    mapfile -t names < <(printf '%s\n' "${names[@]}" | sort -u)
fi
if [ -n "${ARGS:-}" ]; then job=(--set "ARGS=$ARGS"); fi

# patch_of NAME: prints the file of the patch NAME.
patch_of() {
    if [ -e "$own/$1.patch" ]; then realpath "$own/$1.patch"; else realpath "$faults/$1.patch"; fi
}

# plant NAME FAULT: applies the patch NAME to the current state of $tree, in a separate tree FAULT. Fails if the patch
# does not apply.
plant() {
    local name=$1 fault=$2 patch
    patch=$(patch_of "$name")
    if [ ! -d "$E4R_LAB/$fault" ]; then
        git -C "$E4R_LAB/$tree" worktree add -q --detach "$E4R_LAB/$fault"
    fi
    git -C "$E4R_LAB/$fault" checkout -q --detach \
        "$(git -C "$E4R_LAB/$tree" rev-parse HEAD)" || return
    git -C "$E4R_LAB/$fault" apply --index "$patch" || return
    git -C "$E4R_LAB/$fault" -c user.name=lab -c user.email=lab@localhost commit -qm "$name"
}

# found NAME FAULT SEED: runs the job on the tree FAULT. Prints the seconds that the job took to find the fault. Fails
# if the job did not find it.
found() {
    local report line configs=${CONFIGS:-}
    [ -n "$configs" ] || configs=$(sed -n 's/^Configs: //p' "$(patch_of "$1")")
    if report=$("$lab" run diostress --kernel "$2" --set RUN_SEED="$3" \
        ${configs:+--set "CONFIGS=$configs"} "${job[@]}" "${how[@]}" 2>&1); then
        echo "not found"
        return 1
    fi
    report=$(sed -n 's/.*(log: \(.*\))$/\1/p' <<<"$report" | tail -1)
    line=$(grep -a -m1 '^diostress: .*: expected .*, found ' "$report") || {
        echo "failed otherwise: $report"
        return 1
    }
    sed -n 's/.*, after \([0-9.]*\) s.*/\1 s/p' <<<"$line"
}

failed=0
for name in "${names[@]}"; do
    fault=fault-$name-$tree
    plant "$name" "$fault" || { echo "$name: does not apply to $tree" && failed=1 && continue; }
    "$lab" build "$fault" "${how[@]}" >/dev/null
    for ((seed = 1; seed <= seeds; ++seed)); do
        time=$(found "$name" "$fault" "$seed") || failed=1
        echo "$name seed $seed: $time"
    done
done
exit $failed
